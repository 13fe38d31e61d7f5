"""What a node makes of slices, and where it sends traffic."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "What is odd about slices": (
        ("slice-unlabelled", "warning", "{slice} has no label {label}: it belongs to no service"),
        (
            "slice-fqdn",
            "info",
            "{slice} lists {endpoints} {endpoints:host name|host names} (FQDN): proxies leave it "
            "out",
        ),
        (
            "slice-without-ports",
            "warning",
            "{slice} has no ports: its {endpoints} {endpoints:endpoint gets|endpoints get} no "
            "traffic",
        ),
        (
            "slice-port-unset",
            "warning",
            "{slice} gives port {port} no number: that port is left out",
        ),
        (
            "port-not-offered",
            "warning",
            "the service asks for port {port} ({protocol}); its slices ({slices}) offer {offered}: "
            "name and protocol must be the same",
        ),
        (
            "endpoint-contested",
            "warning",
            "{endpoint} is claimed by {winner} and by {losers}, all of them running: Kubernetes "
            "leaves open which one counts, here it is the first named",
        ),
        (
            "endpoint-address-reused",
            "info",
            "{endpoint} is {winner} now; listed with the same address, but terminating: {losers}",
        ),
    ),
    "Where traffic goes": (
        (
            "service-headless",
            "info",
            "{service} is headless: clients choose among the addresses that DNS gives them, "
            "proxies do nothing",
        ),
        (
            "route-node-hints",
            "info",
            "node hints: {ready} of {ready} ready endpoints {ready:has|have} one, {chosen} of them "
            "for {node}",
        ),
        (
            "route-node-hints-elsewhere",
            "info",
            "node hints: {ready} of {ready} ready endpoints {ready:has|have} one, none names "
            "{node}",
        ),
        (
            "route-node-hints-partial",
            "warning",
            "node hints: {hinted} of {ready} ready endpoints {hinted:has|have} one, so nobody's "
            "count; without: {bare}",
        ),
        (
            "route-zone-hints",
            "info",
            "zone hints: {ready} of {ready} ready endpoints {ready:has|have} one, {chosen} of them "
            "for {zone}",
        ),
        (
            "route-zone-hints-elsewhere",
            "info",
            "zone hints: {ready} of {ready} ready endpoints {ready:has|have} one, none names "
            "{zone} ({ready:it names|they name} {zones})",
        ),
        (
            "route-zone-hints-partial",
            "warning",
            "zone hints: {hinted} of {ready} ready endpoints {hinted:has|have} one, so nobody's "
            "count; without: {bare}",
        ),
        (
            "route-node-without-zone",
            "warning",
            "node {node} has no label {label}: nothing can be in its zone",
        ),
        (
            "route-own-node",
            "info",
            "{chosen} of {ready} ready endpoints {chosen:runs|run} on {node}",
        ),
        (
            "route-own-zone",
            "info",
            "{chosen} of {ready} ready endpoints {chosen:runs|run} in {zone}",
        ),
        (
            "route-hints-not-read",
            "info",
            "{profile} does not follow the {kinds} hints of this service",
        ),
        (
            "route-all",
            "info",
            "{ready:the only ready endpoint is|all {ready} ready endpoints are} used",
        ),
        (
            "route-unhinted",
            "info",
            "no ready endpoint has a hint: {ready:the only one is|all {ready} are} used",
        ),
        (
            "route-terminating",
            "warning",
            "no endpoint is ready; {draining} that {draining:is|are} terminating but still serving "
            "{draining:is|are} used",
        ),
        (
            "route-nobody",
            "error",
            "no endpoint is ready, and none that is terminating still serves: connections are "
            "rejected",
        ),
        (
            "route-local",
            "info",
            "{policies} Local: {chosen} of {ready} ready endpoints {chosen:runs|run} on {node}",
        ),
        (
            "route-local-terminating",
            "warning",
            "{policies} Local: no ready endpoint on {node}; {chosen} that {chosen:is|are} "
            "terminating but still serving {chosen:is|are} used",
        ),
        (
            "route-local-nobody",
            "warning",
            "{policies} Local: no endpoint on {node}, so this traffic is dropped there; {ready} "
            "ready {ready:endpoint runs|endpoints run} elsewhere",
        ),
    ),
}
