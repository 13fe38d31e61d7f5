"""The closed catalogue of reasons: why a decision came out as it did.

Law: nothing in Nearwise explains itself in free text. A decision returns ``Reason`` values, and
the sentence, the level and the meaning of each stand here, once. Codes are permanent: the text of
one may get better, a code that is no longer used stays in ``RETIRED`` and is never given again.
CLI, JSON, events, history and the documentation all speak from this table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

Fact = str | int | float | bool | None | Sequence[str] | Mapping[str, int | float | str]


class Level(StrEnum):
    """How much a reason should worry the reader."""

    INFO = "info"  # how it is, and meant to be
    WARNING = "warning"  # works, but not as somebody will expect
    ERROR = "error"  # traffic or an object is lost


class Entry(msgspec.Struct, frozen=True):
    """What a code means: its level, and a sentence with the facts as ``{name}``."""

    level: Level
    sentence: str


class Reason(msgspec.Struct, frozen=True):
    """One reason: a permanent code and its named facts."""

    code: str
    facts: Mapping[str, Fact] = {}

    @property
    def level(self) -> Level:
        """How much it should worry the reader."""
        return CATALOGUE[self.code].level

    @property
    def text(self) -> str:
        """The sentence, with the facts in it."""
        return CATALOGUE[self.code].sentence.format_map(
            {name: _say(value) for name, value in self.facts.items()}
        )

    def to_json(self) -> dict[str, object]:
        """Return the JSON form: ``code``, ``level``, ``text`` and ``facts``."""
        return {
            "code": self.code,
            "level": str(self.level),
            "text": self.text,
            "facts": dict(self.facts),
        }


def reason(code: str, **facts: Fact) -> Reason:
    """Make a reason of the catalogue.

    Raises KeyError for a code that is not in it, and for a fact that its sentence needs but does
    not get.
    """
    made = Reason(code, facts)
    CATALOGUE[code].sentence.format_map(dict.fromkeys(facts, ""))
    return made


def _say(value: Fact) -> str:
    """Write a fact as a sentence wants it: ``a, b and c``; ``a 3, b 2``; ``0.65``."""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        amounts = _cut([f"{name} {_say(amount)}" for name, amount in value.items()])
        return ", ".join(amounts) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        words = _cut([str(word) for word in value])
        return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]])) or "none"
    return str(value)


def _cut(words: list[str]) -> list[str]:
    """Keep a long list readable: the first seven and how many more there are."""
    return words if len(words) <= 8 else [*words[:7], f"{len(words) - 7} more"]


_I, _W, _E = Level.INFO, Level.WARNING, Level.ERROR

CATALOGUE: Final[dict[str, Entry]] = {
    code: Entry(level, sentence)
    for code, level, sentence in [
        # What was read (model).
        ("object-given-twice", _W, "{kind} {object} is given more than once: {kept} is used"),
        ("object-without-kind", _W, "{source}: {count} objects without apiVersion or kind are left out"),
        ("object-without-name", _W, "{source}: {count} {kind} objects without a name are left out"),
        (
            "object-version-unknown",
            _W,
            "{source}: {count} {kind} objects are left out: version {version} is not known here",
        ),
        # Pods that are not endpoints (slices).
        ("pod-finished", _I, "pod {pod} is {phase}: its address may belong to another pod already"),
        ("pod-without-ip", _I, "pod {pod} has no {family} address yet"),
        (
            "pod-node-missing",
            _W,
            "pod {pod} is left out: its node {node} does not exist; tried again later",
        ),
        (
            "pod-without-port",
            _W,
            "pod {pod} has no port named {port} ({protocol}): it is listed without that port",
        ),
        # Services that get no slices of ours.
        ("service-without-selector", _I, "{service} has no selector: its slices are not written here"),
        ("service-external-name", _I, "{service} is an ExternalName: it has no endpoints"),
        ("service-being-deleted", _I, "{service} is being deleted: it gets no new slices"),
        # Why a slice is written.
        ("slice-create-full", _I, "new slice: {endpoints} endpoints fit in no existing slice"),
        ("slice-create-ports", _I, "new slice: no slice has ports {ports} yet"),
        ("slice-create-empty", _I, "placeholder slice: the service has no {family} endpoints"),
        ("slice-update-endpoints", _I, "{slice}: {added} endpoints added, {removed} removed, {changed} changed"),
        ("slice-update-labels", _I, "{slice}: labels follow the service"),
        ("slice-update-hints", _I, "{slice}: hints changed"),
        ("slice-recycle", _I, "{slice} is reused for what would be a new slice"),
        ("slice-delete-empty", _I, "{slice} is deleted: no endpoint of it is left"),
        ("slice-delete-ports", _I, "{slice} is deleted: no pod has its ports any more"),
        ("slice-delete-family", _I, "{slice} is deleted: the service has no {family} addresses"),
        ("slice-delete-foreign-owner", _I, "{slice} is deleted: it belongs to another service of this name"),
        # Hints by trafficDistribution.
        ("hints-same-zone", _I, "hints ask for the same zone (trafficDistribution {value})"),
        ("hints-same-node", _I, "hints ask for the same node, then the same zone (trafficDistribution {value})"),
        ("hints-not-asked", _I, "no hints: neither trafficDistribution nor the topology annotation is set"),
        ("hints-annotation-off", _I, "the annotation {annotation}={value} does not ask for hints; only Auto does"),
        ("hints-by-annotation", _I, "hints by CPU share are asked for ({annotation}={value})"),
        (
            "hints-annotation-hidden",
            _W,
            "the older annotation {annotation}={value} hides {hidden}={hidden_value}",
        ),
        (
            "hints-field-overridden",
            _W,
            "the annotation {annotation}={value} wins over trafficDistribution {field}, even while "
            "it gives no hints: without it the field would bring locality back",
        ),
        ("hints-field-unknown", _W, "no hints: trafficDistribution {value} is not a known value"),
        # Hints by CPU share.
        ("hints-by-share", _I, "hints follow CPU: {endpoints} ready endpoints over zones {allocated} (CPU shares {ratios})"),
        ("hint-lent", _I, "{endpoint} in zone {zone} is lent to zone {to}, because of the CPU shares ({ratios})"),
        ("hints-off-node-info", _W, "hints are off: node {node} has no {missing}, and one such node is enough"),
        ("hints-off-no-nodes", _W, "hints are off: no ready worker node"),
        ("hints-off-one-zone", _W, "hints are off: all ready nodes are in zone {zone}, so zone hints are pointless"),
        ("hints-off-too-few", _W, "hints are off: {endpoints} ready for {zones} zones; it needs at least {zones} ready endpoints"),
        (
            "hints-off-minimums",
            _W,
            "hints are off: the zones need at least {minimums} of {endpoints} ready endpoints "
            "(CPU shares {ratios}), {total} in all",
        ),
        ("hints-off-no-zone", _W, "hints are off: endpoint {endpoint} has no zone"),
        ("hints-off-rounding", _W, "only rounding refuses the hints: exact fractions would grant them"),
        (
            "hints-share-limit",
            _I,
            "{zone} has {percent} % of the ready CPU; with {endpoints} ready endpoints the limit "
            "is {limit} %",
        ),
        (
            "hints-safe-counts",
            _I,
            "with {endpoints} ready there are no hints at these CPU shares; nearest with hints: "
            "{counts}",
        ),
        # Mirroring of Endpoints.
        ("mirror-no-endpoints", _I, "nothing is mirrored: there is no Endpoints object"),
        (
            "mirror-skip-label",
            _I,
            "Endpoints {endpoints} are not mirrored: they carry the label skip-mirror=true",
        ),
        (
            "mirror-leader",
            _I,
            "Endpoints {endpoints} are not mirrored: they are a lock for leader election",
        ),
        (
            "mirror-no-service",
            _W,
            "Endpoints {endpoints} are not mirrored: there is no service of that name",
        ),
        (
            "mirror-service-selects",
            _I,
            "Endpoints {endpoints} are not mirrored: the service has a selector, its slices come "
            "from pods",
        ),
        (
            "mirror-being-deleted",
            _I,
            "Endpoints {endpoints} are being deleted: they get no new slices",
        ),
        ("mirror-follows", _I, "{slice}: labels, annotations and owner follow the Endpoints"),
        (
            "mirror-reserved-label",
            _W,
            "the Endpoints carry {label}, which only slices may carry: it is not followed, and the "
            "slices are written again at every look",
        ),
        (
            "mirror-slice-removed",
            _I,
            "{slice} is deleted: nothing in the Endpoints is mirrored to it any more",
        ),
        ("mirror-invalid-address", _E, "not mirrored, for they are no IP addresses: {addresses}"),
        (
            "mirror-over-limit",
            _E,
            "not mirrored, for a subset may have {limit} addresses: {addresses}",
        ),
        # Who the clients are taken to be (insight).
        ("clients-busy-nodes", _I, "the same from each of the {nodes} ready nodes that run other pods"),
        (
            "clients-worker-nodes",
            _I,
            "the same from each of the {nodes} ready worker nodes; no pods of anybody else are known",
        ),
        ("clients-all-nodes", _I, "the same from each of the {nodes} nodes"),
        ("clients-one-place", _I, "all of it from {place}"),
        (
            "clients-by-cpu",
            _I,
            "by the allocatable CPU of the {nodes} ready worker nodes, as hints by CPU share assume",
        ),
        ("clients-by-pods", _I, "by the number of other pods: {pods} of them on {nodes} ready nodes"),
        (
            "clients-by-selector",
            _I,
            "the same from each of the {pods} running pods with {selector}, on {nodes} nodes",
        ),
        (
            "clients-outside",
            _I,
            "from outside, the same through each of the {nodes} nodes whose health check passes",
        ),
        # Where the traffic goes, in one sentence (insight).
        ("traffic-even", _I, "all {total} ready endpoints share the traffic evenly: {percent} % each"),
        (
            "traffic-uneven",
            _I,
            "all {total} ready endpoints get traffic, but from {least} % to {most} %",
        ),
        (
            "traffic-part",
            _W,
            "{reached} of {total} ready endpoints get all the traffic, {idle} get none",
        ),
        ("traffic-one", _I, "one endpoint is ready and gets all the traffic: {endpoint}"),
        ("traffic-from", _I, "traffic from {place} goes to {endpoints}"),
        (
            "traffic-terminating",
            _W,
            "nothing is ready: {total} terminating endpoints that still serve get the traffic",
        ),
        ("traffic-refused", _E, "no endpoint can be used: connections are refused at once"),
        (
            "traffic-dropped",
            _E,
            "{percent} % of the traffic is dropped: there is no endpoint on {nodes}, and policy "
            "Local allows no other",
        ),
        # What every endpoint gets (insight).
        ("endpoints-nobody-reaches", _W, "no client reaches {endpoints}"),
        (
            "hot-endpoints",
            _W,
            "hot: {endpoints}, up to {percent} % of the traffic, {times} times the mean of {mean} % "
            "that an autoscaler sees",
        ),
        ("cross-zone", _I, "{percent} % of the traffic crosses zones"),
        (
            "cross-zone-saved",
            _I,
            "{percent} % of the traffic crosses zones; spread over all endpoints it would be "
            "{without} %",
        ),
        (
            "cross-zone-unknown",
            _I,
            "of {percent} % of the traffic it is not known whether it crosses zones",
        ),
        ("node-without-zone", _W, "no zone label on {nodes}: zone hints do not reach clients there"),
        # Hints that the slices carry (insight).
        ("hints-carried-none", _I, "none of the {ready} ready endpoints has a hint"),
        ("hints-carried-zones", _I, "{hinted} of {ready} ready endpoints have a hint: {zones}"),
        (
            "hints-carried-nodes",
            _I,
            "{hinted} of {ready} ready endpoints have a hint: {zones}, and {nodes} nodes",
        ),
        (
            "hints-lent",
            _I,
            "lent from zone {zone} to zone {to}, because of the CPU shares ({ratios}): {endpoints}",
        ),
        ("hints-last-event", _I, "last event {time}: {event}: {message}"),
        (
            "hints-stuck-off",
            _W,
            "the slices carry no hints, though today's {endpoints} ready endpoints and CPU shares "
            "({ratios}) would get them: they come with the next change of a pod of the service",
        ),
        (
            "hints-stuck-on",
            _W,
            "the slices still carry hints ({zones}), though today they would be refused: they go "
            "with the next change of a pod of the service",
        ),
        (
            "hints-outdated",
            _W,
            "the slices carry hints of another time ({stored}); today's CPU shares ({ratios}) ask "
            "for {wanted}",
        ),
        (
            "endpoint-without-hint-node",
            _W,
            "{endpoint} has no zone hint, for its node {node} has no label {label}: one such "
            "endpoint takes zone hints from every client",
        ),
        (
            "endpoint-without-hint-zone",
            _W,
            "{endpoint} (node {node}) has no zone, so it has no zone hint: one such endpoint takes "
            "zone hints from every client",
        ),
        (
            "hints-missing",
            _W,
            "{endpoints} should have hints (trafficDistribution {value}) and have none: a rollout, "
            "or a controller that does not know the value",
        ),
        ("hints-wrong", _W, "{endpoints} have other hints than trafficDistribution {value} gives"),
        ("hints-left-over", _W, "{endpoints} have hints that nothing asks for any more"),
        (
            "local-overrides-hints",
            _W,
            "internalTrafficPolicy Local wins: hints ({value}) change nothing inside the cluster",
        ),
        # Objects that do not fit together (insight).
        (
            "endpoints-terminating",
            _I,
            "{endpoints}: terminating, so listed but not used while anything is ready",
        ),
        ("endpoints-not-ready", _I, "{endpoints}: not ready, so listed but not used"),
        (
            "dns-answers",
            _I,
            "DNS answers with all {count} addresses and each client picks one: hints do nothing",
        ),
        ("service-without-slices", _W, "the snapshot has no EndpointSlice of {service}"),
        ("snapshot-without-nodes", _W, "the snapshot has no nodes: places are guessed from pods and endpoints"),
        (
            "frozen-slice",
            _E,
            "{slice} is frozen since {since}: the service has no selector any more, nobody updates "
            "its {endpoints} endpoints, and proxies still use them",
        ),
        (
            "orphan-slice",
            _W,
            "{slice} is left over: its owner (Service {service}, uid {owner}) {owner_exists}; "
            "created {created}",
        ),
        ("slice-foreign", _I, "{slice} is managed by {manager}: it is used and left alone"),
        ("two-writers", _W, "two managers list endpoints; only {manager} lists {addresses}"),
        (
            "mirror-without-zone",
            _I,
            "{endpoints} endpoints are mirrored from {source}: a mirror knows no zone, so they get "
            "no hints",
        ),
        ("mirror-zone-known", _I, "for {endpoints} of them the zone could be filled from nodeName"),
        (
            "slice-pod-disagree",
            _W,
            "{slice} says {pod} is {listed}, the pod itself is {truth}; newer is {newer}",
        ),
        ("selector-picks-nobody", _W, "no pod in namespace {namespace} has the labels {labels}"),
        ("pods-not-listed", _W, "no slice lists {pods}, though the service selects them"),
        ("endpoints-without-pod", _E, "slices list {endpoints}, which the service does not select any more"),
        (
            "endpoints-slice-disagree",
            _W,
            "Endpoints say {address} is {endpoints}, {slice} says {listed}; newer is {newer}",
        ),
        (
            "endpoints-slice-disagree-pod",
            _W,
            "Endpoints say {address} is {endpoints}, {slice} says {listed}; pod {pod} is {truth}, "
            "so the {right} is right; newer is {newer}",
        ),
        ("endpoints-slice-disagree-more", _W, "Endpoints and slices disagree about {addresses} too"),
        ("endpoints-only", _W, "only the Endpoints list {addresses}: no slice does"),
        # Hints, service by service (insight).
        (
            "deprecated-value",
            _I,
            "trafficDistribution {value} is the deprecated name of {now}: both mean the same",
        ),
        (
            "hints-annotation-unknown",
            _W,
            "{annotation}={value} is no known value: it asks for nothing, only Auto does",
        ),
        (
            "hints-annotation-refuses",
            _W,
            "{annotation} gives no hints and keeps trafficDistribution {field} from giving any: "
            "without the annotation {hinted} of {ready} ready endpoints would have a hint",
        ),
        (
            "hints-none-of-others",
            _W,
            "{manager} gives its {endpoints} ready endpoints no hints: one endpoint without takes "
            "locality from every client",
        ),
        (
            "hint-stale-zone",
            _W,
            "{endpoints} ready endpoints are hinted to zone {zone}, where no ready node is",
        ),
        (
            "hint-stale-node",
            _W,
            "{endpoints} ready endpoints are hinted to node {node}, which {state}",
        ),
        ("hints-event-text", _I, "Kubernetes tells it as: {message}"),
        ("hints-no-event", _I, "Kubernetes raises no event about this"),
        ("hints-off-since", _I, "they went at {time}, with the event: {message}"),
        (
            "hints-off-since-unknown",
            _I,
            "since when is not known: events are kept for about an hour",
        ),
        (
            "hints-touch",
            _I,
            "any change of the service or its pods makes Kubernetes look again, such as: kubectl "
            'annotate --overwrite -n {namespace} service {service} touched="$(date +%s)"',
        ),
        (
            "hints-threshold",
            _I,
            "off at {endpoints} endpoints between ratio {low} and {high}; now {ratio} ({zone})",
        ),
        (
            "hints-lost-at",
            _I,
            "at these CPU shares hints go with {counts} ready endpoints",
        ),
        (
            "hints-zone-not-counted",
            _W,
            "{endpoints} run in zone {zone}, which has no part in the shares: its nodes are not "
            "counted (CPU: {nodes})",
        ),
        (
            "hints-nodes-tolerated",
            _I,
            "counting only nodes on which these pods may run, the hints by zone would be "
            "{tolerated}; counting all they are {counted}",
        ),
        (
            "hints-families-differ",
            _W,
            "{hinted} endpoints have hints, {unhinted} endpoints have none: each family is decided "
            "on its own",
        ),
        ("cpu-shares", _I, "CPU of the ready worker nodes by zone: {cpu}"),
        ("cpu-nodes-excluded", _I, "not counted in the CPU shares ({why}), with their CPU: {nodes}"),
        # What the controllers would write, held against what is stored (insight).
        (
            "snapshot-without",
            _W,
            "the snapshot has no {kind}: what the slices made of them should hold cannot be told",
        ),
        ("diff-endpoint-missing", _W, "{endpoint} ({family}) is not listed and should be"),
        ("diff-endpoint-extra", _W, "{endpoint} ({family}) is listed in {slice} and should not be"),
        ("diff-pod-gone", _I, "there is no pod {pod} any more"),
        ("diff-pod-not-selected", _I, "pod {pod} is not selected by the service"),
        ("diff-endpoint-changed", _W, "{endpoint} in {slice} has changed: {changes}"),
        (
            "diff-endpoint-ports",
            _W,
            "{endpoint} lies in {slice} under ports {listed}; it belongs under {wanted}",
        ),
        ("diff-endpoint-twice", _W, "{endpoint} ({family}) is listed more than once: in {slices}"),
        (
            "slices-beside-foreign",
            _I,
            "{writer} writes slices of its own beside those of {managers}",
        ),
        (
            "slices-foreign-only",
            _I,
            "no controller of Kubernetes writes slices here: there is neither a selector nor an "
            "Endpoints object",
        ),
        (
            "slices-could-be-fewer",
            _I,
            "{endpoints} endpoints lie in {slices} slices and would fit in {ideal}: nobody ever puts "
            "them together; it would take {writes} writes",
        ),
        ("diff-hints", _W, "{endpoint} in {slice} has hints {listed}; it would get {wanted}"),
        (
            "diff-lent-elsewhere",
            _I,
            "{endpoint} in {slice} is hinted to {listed}, made anew it would be to {wanted}: each "
            "zone gets the same number, and which endpoint is lent does not matter",
        ),
        # What is odd about slices (routing).
        ("slice-unlabelled", _W, "{slice} has no label {label}: it belongs to no service"),
        ("slice-fqdn", _I, "{slice} lists {endpoints} host names (FQDN): proxies leave it out"),
        ("slice-without-ports", _W, "{slice} has no ports: its {endpoints} endpoints get no traffic"),
        ("slice-port-unset", _W, "{slice} gives port {port} no number: that port is left out"),
        (
            "port-not-offered",
            _W,
            "the service asks for port {port} ({protocol}); its slices ({slices}) offer {offered}: "
            "name and protocol must be the same",
        ),
        (
            "endpoint-contested",
            _W,
            "{endpoint} is claimed by {winner} and by {losers}, all of them running: Kubernetes "
            "leaves open which one counts, here it is the first named",
        ),
        (
            "endpoint-address-reused",
            _I,
            "{endpoint} is {winner} now; listed with the same address, but terminating: {losers}",
        ),
        # Where traffic goes (routing).
        (
            "service-headless",
            _I,
            "{service} is headless: clients choose among the addresses that DNS gives them, "
            "proxies do nothing",
        ),
        (
            "route-node-hints",
            _I,
            "node hints: {ready} of {ready} ready endpoints have one, {chosen} of them for {node}",
        ),
        (
            "route-node-hints-elsewhere",
            _I,
            "node hints: {ready} of {ready} ready endpoints have one, none names {node}",
        ),
        (
            "route-node-hints-partial",
            _W,
            "node hints: {hinted} of {ready} ready endpoints have one, so nobody's count; without: "
            "{bare}",
        ),
        (
            "route-zone-hints",
            _I,
            "zone hints: {ready} of {ready} ready endpoints have one, {chosen} of them for {zone}",
        ),
        (
            "route-zone-hints-elsewhere",
            _I,
            "zone hints: {ready} of {ready} ready endpoints have one, none names {zone} (they name "
            "{zones})",
        ),
        (
            "route-zone-hints-partial",
            _W,
            "zone hints: {hinted} of {ready} ready endpoints have one, so nobody's count; without: "
            "{bare}",
        ),
        (
            "route-node-without-zone",
            _W,
            "node {node} has no label {label}: nothing can be in its zone",
        ),
        ("route-own-node", _I, "{chosen} of {ready} ready endpoints run on {node}"),
        ("route-own-zone", _I, "{chosen} of {ready} ready endpoints run in {zone}"),
        ("route-hints-not-read", _I, "{profile} does not follow the {kinds} hints of this service"),
        ("route-all", _I, "all {ready} ready endpoints are used"),
        ("route-unhinted", _I, "no ready endpoint has a hint: all {ready} are used"),
        (
            "route-terminating",
            _W,
            "no endpoint is ready; {draining} that are terminating but still serving are used",
        ),
        (
            "route-nobody",
            _E,
            "no endpoint is ready, and none that is terminating still serves: connections are "
            "rejected",
        ),
        ("route-local", _I, "{policies} Local: {chosen} of {ready} ready endpoints run on {node}"),
        (
            "route-local-terminating",
            _W,
            "{policies} Local: no ready endpoint on {node}; {chosen} that are terminating but still "
            "serving are used",
        ),
        (
            "route-local-nobody",
            _W,
            "{policies} Local: no endpoint on {node}, so this traffic is dropped there; {ready} "
            "ready endpoints run elsewhere",
        ),
    ]
}

RETIRED: Final[frozenset[str]] = frozenset()
