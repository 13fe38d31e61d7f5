"""Where traffic to a service goes, and why: one service of a world, explained.

Law: nothing is decided here. ``asked`` and ``carried`` say which hints there should be and are,
``parts`` who gets which endpoints and what that makes of the traffic, ``hint_findings`` and
``disagreements`` what is wrong; this file puts it in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from nearwise.insight import hint_findings
from nearwise.insight.carried import Carried, carried
from nearwise.insight.clients import EVERYWHERE, NODES, assume, places
from nearwise.insight.disagreements import disagreements, orphans
from nearwise.insight.explanation import Explanation
from nearwise.insight.parts import Question, Way, kinds, parts
from nearwise.insight.world import Key, World
from nearwise.model import EndpointSlice, Reason, Service, reason, wellknown
from nearwise.model.errors import InputError
from nearwise.model.reasons import Level
from nearwise.model.suggestion import did_you_mean
from nearwise.routing import KUBE_PROXY, PROFILES, Profile, is_routed, merge, profile_for
from nearwise.slices.asked import Asked, asked
from nearwise.slices.endpoints import families_of
from nearwise.slices.nodes import Nodes


def explain(
    world: World,
    key: Key,
    *,
    origin: str = EVERYWHERE,
    clients: str = NODES,
    profiles: Sequence[str] = (),
) -> Explanation:
    """Explain one service.

    ``origin`` (see ``clients.places``) narrows down where traffic comes from, ``clients`` (see
    ``clients.assume``) says how much from each place. With ``profiles`` the service is explained
    once for each of these data planes, else as each node's kube-proxy does it by its version.

    Raises InputError for a service, place, selector or profile that is not there.
    """
    service = world.services.get(key)
    if service is None:
        return _ownerless(world, key)
    planes = {name: _plane(name) for name in profiles} or {"": _own_plane(world)}
    among = places(world, key, origin)
    question = Question(world, origin, among, assume(world, service, among, clients))
    wish = asked(service)
    slices = world.slices_of(key)
    families = () if service.spec.type == "ExternalName" else families_of(service)
    views = [merge(service, (*slices, *_unlabelled(world, service)), f) for f in families]
    hints = [carried(world, service, family, wish) for family in families if is_routed(service)]

    findings = [
        *_at_large(world, service, slices),
        *(why for why in wish.reasons if why.level is not Level.INFO),
        *(why for view in views for why in view.reasons),
        *disagreements(world, service),
        *(why for each in hints for why in each.findings),
    ]
    if hints:
        findings += hint_findings.of_service(service, wish, hints)
        findings += _beside(world, service, wish, hints)
    return Explanation(
        service="/".join(key),
        type=service.spec.type or "ClusterIP",
        cluster_ips=service.spec.cluster_ips or tuple(filter(None, [service.spec.cluster_ip])),
        origin=origin,
        asked=_asked(service, wish.reasons),
        hints=tuple(hints),
        parts=tuple(
            part
            for place, view in enumerate(views)
            for traffic in kinds(service)
            for name, plane in planes.items()
            for part in parts(
                question, view, hints[place] if hints else None, Way(traffic, name, plane)
            )
        ),
        # Families tell some of them twice.
        findings=tuple(dict.fromkeys(findings)),
    )


def _beside(
    world: World, service: Service, wish: Asked, hints: Iterable[Carried]
) -> Iterator[Reason]:
    """Yield what else is known of the hints, but Kubernetes' words only where no event has them."""
    nodes = Nodes(world.objects.nodes)
    for each in hints:
        told = {why.facts.get("message") for why in each.reasons}
        for why in hint_findings.of_family(world, nodes, service, wish, each):
            if why.facts.get("message") not in told or why.code != "hints-event-text":
                yield why


def _ownerless(world: World, key: Key) -> Explanation:
    """Explain slices whose service does not exist. Raises InputError when there are none."""
    if not world.slices_of(key):
        names = ["/".join(each) for each in world.services]
        names += [name for _, name in world.services]
        hint = did_you_mean("/".join(key), names) or did_you_mean(key[1], names)
        raise InputError(f"there is no service {'/'.join(key)}", hint=hint)
    return Explanation("/".join(key), "", (), "", (), (), (), orphans(world, key))


def _asked(service: Service, wish: tuple[Reason, ...]) -> tuple[Reason, ...]:
    name = "/".join(service.metadata.key)
    if service.spec.type == "ExternalName":
        return (reason("service-external-name", service=name),)
    return wish if is_routed(service) else (reason("service-headless", service=name),)


def _plane(name: str) -> Callable[[str], Profile]:
    profile = PROFILES.get(name)
    if profile is None:
        hint = did_you_mean(name, PROFILES) or f"there are {', '.join(PROFILES)}"
        raise InputError(f"no data plane is called {name}", hint=hint)
    return lambda _node: profile


def _own_plane(world: World) -> Callable[[str], Profile]:
    """Return the kube-proxy of each node, by the version that the node reports."""
    own = {name: profile_for(node) for name, node in world.nodes.items()}
    return lambda node: own.get(node, KUBE_PROXY)


def _unlabelled(world: World, service: Service) -> Iterator[EndpointSlice]:
    """Yield slices without the label that ties them to a service, named as this one's would be."""
    namespace, name = service.metadata.key
    if service.spec.selector or world.slices_of((namespace, name)):
        return
    for slice_ in world.objects.slices:
        meta = slice_.metadata
        called_so = meta.name == name or meta.name.startswith(f"{name}-")
        if called_so and meta.namespace == namespace and wellknown.SERVICE_NAME not in meta.labels:
            yield slice_


def _at_large(world: World, service: Service, slices: Sequence[EndpointSlice]) -> Iterator[Reason]:
    """Yield what the snapshot lacks to answer well."""
    if not world.nodes:
        yield reason("snapshot-without-nodes")
    if not slices and service.spec.type != "ExternalName":
        yield reason("service-without-slices", service="/".join(service.metadata.key))
