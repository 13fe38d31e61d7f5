"""Who sends traffic, where it goes, and what each endpoint gets."""

from typing import Final

from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    "Who the clients are taken to be": (
        (
            "clients-busy-nodes",
            "info",
            "{nodes:all of it from the one ready node that runs|the same from each of the {nodes} "
            "ready nodes that run} other pods",
        ),
        (
            "clients-worker-nodes",
            "info",
            "{nodes:all of it from the one ready worker node|the same from each of the {nodes} "
            "ready worker nodes}; no pods of anybody else are known",
        ),
        ("clients-all-nodes", "info", "the same from each of the {nodes} nodes"),
        ("clients-one-place", "info", "all of it from {place}"),
        (
            "clients-by-cpu",
            "info",
            "by the allocatable CPU of the {nodes} ready worker {nodes:node|nodes}, as hints by "
            "CPU share assume",
        ),
        (
            "clients-by-pods",
            "info",
            "by the number of other pods: {pods} of them on {nodes} ready {nodes:node|nodes}",
        ),
        (
            "clients-by-selector",
            "info",
            "{pods:all of it from the one running pod|the same from each of the {pods} running "
            "pods} with {selector}, on {nodes} {nodes:node|nodes}",
        ),
        (
            "clients-outside",
            "info",
            "from outside, {nodes:all of it through the one node|the same through each of the "
            "{nodes} nodes} whose health check passes",
        ),
    ),
    "Where the traffic goes, in one sentence": (
        (
            "traffic-even",
            "info",
            "all {total} ready endpoints share the traffic evenly: {percent} % each",
        ),
        (
            "traffic-uneven",
            "info",
            "all {total} ready endpoints get traffic, but from {least} % to {most} %",
        ),
        (
            "traffic-part",
            "warning",
            "{reached} of {total} ready endpoints {reached:gets|get} all the traffic, {idle} "
            "{idle:gets|get} none",
        ),
        ("traffic-one", "info", "one endpoint is ready and gets all the traffic: {endpoint}"),
        ("traffic-from", "info", "traffic from {place} goes to {endpoints}"),
        (
            "traffic-terminating",
            "warning",
            "nothing is ready: {total} terminating {total:endpoint that still serves "
            "gets|endpoints that still serve get} the traffic",
        ),
        ("traffic-refused", "error", "no endpoint can be used: connections are refused at once"),
        (
            "traffic-dropped",
            "error",
            "{percent} % of the traffic is dropped: there is no endpoint on {nodes}, and policy "
            "Local allows no other",
        ),
    ),
    "What every endpoint gets": (
        ("endpoints-nobody-reaches", "warning", "no client reaches {endpoints}"),
        (
            "hot-endpoints",
            "warning",
            "hot: {endpoints}, up to {percent} % of the traffic, {times} times the mean of "
            "{mean} % "
            "that an autoscaler sees",
        ),
        ("cross-zone", "info", "{percent} % of the traffic crosses zones"),
        (
            "cross-zone-saved",
            "info",
            "{percent} % of the traffic crosses zones; spread over all endpoints it would be "
            "{without} %",
        ),
        (
            "cross-zone-unknown",
            "info",
            "of {percent} % of the traffic it is not known whether it crosses zones",
        ),
        (
            "node-without-zone",
            "warning",
            "no zone label on {nodes}: zone hints do not reach clients there",
        ),
    ),
}
