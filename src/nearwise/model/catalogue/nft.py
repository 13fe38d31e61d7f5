"""What of a service does not make it into the kernel of a node."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "What a node leaves out": (
        (
            "service-other-proxy",
            "info",
            "the service is labelled for the proxy {proxy}: this one does nothing",
        ),
        (
            "service-labelled-headless",
            "info",
            "the service carries the label {label}: proxies do nothing",
        ),
        (
            "frontend-address-unreadable",
            "warning",
            "{field}: {value} is no IP address, so nobody can connect to it",
        ),
        (
            "frontend-address-special",
            "warning",
            "{field}: {value} is a loopback, link-local, multicast or unspecified address, which "
            "no service can have; it is left out",
        ),
        (
            "frontend-port-invalid",
            "warning",
            "{field}: {value} is no port (1 to 65535), so nobody can connect to it",
        ),
        (
            "frontend-protocol-unknown",
            "warning",
            "{field}: {value} is none of TCP, UDP and SCTP; the port is left out",
        ),
        (
            "frontend-on-two-ports",
            "warning",
            "two ports of the service are {frontend}: it is port {winner}, not port {loser}",
        ),
        (
            "frontend-contested",
            "warning",
            "{frontends} {frontends:is|are} claimed by {winner} as well, which gets "
            "{frontends:it|them}: a cluster address goes before others, then the older service",
        ),
        (
            "backend-unusable",
            "warning",
            "port {port}: no {family} address with a port, so no connection is sent there: "
            "{backends}",
        ),
        (
            "affinity-timeout-invalid",
            "warning",
            "a session affinity of {seconds} seconds is outside 1 to {most}: it is {default} "
            "seconds",
        ),
        (
            "source-range-unreadable",
            "warning",
            "{field}: {value} is no network such as 10.0.0.0/8, so it lets nobody in",
        ),
        (
            "source-ranges-of-other-family",
            "warning",
            "no source range of the load balancer is {family}: nobody is let in by {family}",
        ),
    ),
}
