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
            "no source range of the load balancer is {family}, so by {family} anybody may come: "
            "give ranges of both families",
        ),
    ),
    "What the kernel of a node has": (
        (
            "kernel-agrees",
            "info",
            "the kernel has what it should, for {frontends} {frontends:frontend|frontends}",
        ),
        (
            "kernel-agrees-but",
            "warning",
            "the kernel has what it should for each frontend, but {findings} {findings:thing "
            "is|things are} amiss",
        ),
        (
            "kernel-differs",
            "error",
            "the kernel does not have what it should for {other} of {frontends} "
            "{frontends:frontend|frontends}",
        ),
        (
            "kernel-family-none",
            "info",
            "this machine has no {family} address, so its proxy keeps no table for it",
        ),
        (
            "kernel-elsewhere",
            "warning",
            "this machine has none of the addresses of node {node} ({addresses}), so its kernel "
            "may be that of another",
        ),
        (
            "kernel-table-missing",
            "error",
            "there is no table {table} in force on this machine: no proxy of ours has run here, "
            "or somebody removed it",
        ),
        (
            "kernel-rules-changed",
            "warning",
            "table {table}: {parts:this part is|these parts are} not as a proxy of ours makes "
            "{parts:it|them}: {parts}",
        ),
        (
            "kernel-sets-unreadable",
            "error",
            "table {table}: a proxy of ours did not write what is in {sets}, so it cannot be said "
            "what the kernel does",
        ),
        (
            "kernel-frontends-missing",
            "error",
            "{frontends}: not in the kernel",
        ),
        (
            "kernel-frontends-left",
            "warning",
            "{frontends}: in the kernel for this service, and should not be",
        ),
        (
            "kernel-frontends-of-other",
            "error",
            "{frontends}: in the kernel for {owner}",
        ),
        (
            "kernel-verdict-other",
            "error",
            "{frontends}: in map {map} the verdict is {has}, and should be {should}",
        ),
        (
            "kernel-endpoints-missing",
            "warning",
            "{frontends}: the kernel sends nothing to {endpoints}, though {endpoints:it is|they "
            "are} chosen for this node",
        ),
        (
            "kernel-endpoints-not-chosen",
            "warning",
            "{frontends}: the kernel sends connections to {endpoints}, which {endpoints:is|are} "
            "not chosen for this node",
        ),
        (
            "kernel-endpoints-unknown",
            "error",
            "{frontends}: the kernel sends connections to {endpoints}, which no slice of the "
            "service lists",
        ),
        (
            "kernel-endpoints-twice",
            "warning",
            "{frontends}: the kernel draws {endpoints} more often than others",
        ),
        (
            "kernel-slots-empty",
            "error",
            "{frontends}: {empty} of {slots} numbers that the kernel draws {empty:leads|lead} to "
            "no endpoint, so that the first one gets what is drawn so",
        ),
        (
            "kernel-slots-undrawn",
            "warning",
            "{frontends}: in map {map}, and never drawn: {endpoints}",
        ),
        (
            "kernel-fence-missing",
            "warning",
            "{frontends}: the kernel lets everybody in, and should only some sources",
        ),
        (
            "kernel-fence-left",
            "error",
            "{frontends}: the kernel lets only some sources in, and should everybody",
        ),
        (
            "kernel-sources-missing",
            "error",
            "{frontends}: the kernel does not let {sources} in, and should",
        ),
        (
            "kernel-sources-left",
            "warning",
            "{frontends}: the kernel lets {sources} in, and should not",
        ),
        (
            "kernel-affinity-other",
            "warning",
            "{frontends}: for how many seconds a client stays with its endpoint (session "
            "affinity): {has} in the kernel, and should be {should}",
        ),
        (
            "kernel-rules-mislead",
            "error",
            "{frontends}: the elements are as they should be, but the rules of the table lead "
            "elsewhere",
        ),
        (
            "kernel-cluster-addresses-missing",
            "warning",
            "{addresses} {addresses:is|are} not among the cluster addresses in the kernel: what "
            "goes to other ports of {addresses:it|them} is not rejected",
        ),
        (
            "kernel-own-endpoints-missing",
            "warning",
            "{addresses} {addresses:is|are} not among those that may call themselves in the "
            "kernel: when a pod is sent to itself, that connection fails",
        ),
        (
            "kernel-pins-stale",
            "warning",
            "{frontend}: {count} {count:client is|clients are} kept to {endpoint} by session "
            "affinity, which they should not get any more",
        ),
        (
            "kernel-flows-stale",
            "error",
            "{frontend}: {count} UDP {count:flow goes|flows go} on to {endpoint}, where nobody is "
            "sent any more",
        ),
        (
            "kernel-flows-unread",
            "info",
            "whether UDP flows go on to endpoints that are gone cannot be said: {why}",
        ),
    ),
}
