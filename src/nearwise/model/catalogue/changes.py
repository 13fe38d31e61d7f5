"""What became of a service and its endpoints, between one look and the next."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "What changed": (
        ("endpoints-joined", "info", "{endpoints} joined"),
        ("endpoints-left", "info", "{endpoints} left"),
        ("endpoints-became-ready", "info", "{endpoints} became ready"),
        ("endpoints-lost-readiness", "warning", "{endpoints} lost readiness"),
        ("endpoints-began-terminating", "info", "{endpoints} began to terminate"),
        (
            "endpoints-stopped-serving",
            "info",
            "{endpoints} {endpoints:terminates|terminate} and stopped serving",
        ),
        ("endpoints-readdressed", "info", "{endpoints} changed address"),
        ("endpoints-rehinted", "info", "{endpoints} got other hints"),
        ("service-absent", "error", "there is no service {service}"),
    ),
}
