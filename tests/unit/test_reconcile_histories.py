"""Random histories of a service: what is remembered gives the plan that whole objects give.

A machine keeps the objects of a small cluster and, beside them, a ``ServiceSlices`` that only ever
hears of changes. Before every write both are asked for their plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointSlice,
    Node,
    ObjectMeta,
    ObjectReference,
    Pod,
    Service,
)
from nearwise.model.core import (
    Condition,
    Container,
    ContainerPort,
    NodeStatus,
    PodIP,
    PodSpec,
    PodStatus,
    ServicePort,
    ServiceSpec,
)
from nearwise.model.wellknown import MANAGED_BY, SERVICE_NAME, TOPOLOGY_MODE, ZONE
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import apply
from nearwise.slices.reconcile import Rules, ServicePlan, ServiceSlices, reconcile

NODES = ("n0", "n1", "n2", "n3")
PODS = tuple(f"web-{number}" for number in range(14))
replace = msgspec.structs.replace


def make_node(name: str, zone: str, cpu: str, ready: bool) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, labels={ZONE: zone} if zone else {}),
        status=NodeStatus(
            allocatable={"cpu": cpu},
            conditions=(Condition(type="Ready", status="True" if ready else "False"),),
        ),
    )


nodes = st.builds(
    make_node,
    st.sampled_from(NODES),
    st.sampled_from(("a", "b", "a", "b", "")),
    st.sampled_from(("2", "4", "4500m")),
    st.sampled_from((True, True, True, False)),
)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    name = draw(st.sampled_from(PODS))
    number = PODS.index(name)
    ips = draw(
        st.sampled_from(
            (
                (f"10.0.0.{number}",),
                (f"10.0.0.{number}", f"fd00::{number + 1}"),
                (f"10.0.1.{number}",),
                ("10.0.0.99",),
                (),
            )
        )
    )
    named = draw(st.sampled_from(((8080,), (9090,), ())))
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="shop",
            uid=f"uid-{name}",
            deletion_timestamp=draw(st.sampled_from((None, None, "2026-01-01T00:00:00Z"))),
        ),
        spec=PodSpec(
            node_name=draw(st.sampled_from((*NODES, "ghost"))),
            hostname=draw(st.sampled_from(("", "", name))),
            subdomain="web",
            containers=(
                Container("c", tuple(ContainerPort("http", port, "TCP") for port in named)),
            ),
        ),
        status=PodStatus(
            phase=draw(st.sampled_from(("Running", "Running", "Running", "Failed"))),
            pod_ip=ips[0] if ips else "",
            pod_ips=tuple(PodIP(ip) for ip in ips),
            conditions=(
                Condition(type="Ready", status=draw(st.sampled_from(("True", "True", "False")))),
            ),
        ),
    )


services = st.builds(
    lambda labels, named, families, mode, distribution, publish, deleted: Service(
        metadata=ObjectMeta(
            name="web",
            namespace="shop",
            uid="svc-uid",
            labels=labels,
            annotations={TOPOLOGY_MODE: mode} if mode else {},
            deletion_timestamp=deleted,
        ),
        spec=ServiceSpec(
            ports=(
                ServicePort("http", "TCP", None, 80, "http" if named else 8080),
                ServicePort("dns", "UDP", None, 53, 5353),
            ),
            selector={"app": "web"},
            cluster_ip="10.96.0.1",
            ip_families=families,
            publish_not_ready_addresses=publish,
            traffic_distribution=distribution,
        ),
    ),
    st.sampled_from(({}, {"team": "x"})),
    st.booleans(),
    st.sampled_from((("IPv4",), ("IPv4",), ("IPv4", "IPv6"), ("IPv6",))),
    st.sampled_from((None, None, "Auto", "Auto", "Disabled")),
    st.sampled_from((None, "PreferSameZone", "PreferSameNode")),
    st.sampled_from((False, False, False, True)),
    st.sampled_from((None, None, None, None, "2026-01-01T00:00:00Z")),
)


class Names:
    """The names of the slices that are stored at the moment of the question."""

    def __init__(self, stored: Callable[[], Iterable[EndpointSlice]]) -> None:
        self._stored = stored

    def __contains__(self, name: object) -> bool:
        return any(slice_.metadata.name == name for slice_ in self._stored())


class Histories(RuleBasedStateMachine):
    """Everything that can happen to a service, in any order."""

    @initialize(service=services, most=st.sampled_from((1, 2, 3, 5, 100)))
    def begin(self, service: Service, most: int) -> None:
        self.service = service
        self.limits = Rules(max_endpoints=most)
        self.pods: dict[str, Pod] = {}
        self.nodes = Nodes()
        self.stored: tuple[EndpointSlice, ...] = ()
        names = Names(lambda: self.stored)
        self.state = ServiceSlices(service, self.nodes, rules=self.limits, occupied=names)
        self.open = True  # whether something happened since the last write

    @rule(changed=st.lists(pods(), min_size=1, max_size=6))
    def pods_change(self, changed: list[Pod]) -> None:
        self.pods |= {pod.metadata.name: pod for pod in changed}
        self.state.put_pods(changed)
        self.open = True

    @rule(name=st.sampled_from(PODS))
    def a_pod_goes(self, name: str) -> None:
        self.pods.pop(name, None)
        self.state.drop_pod(name)
        self.open = True

    @rule(changed=st.lists(nodes, min_size=1, max_size=4))
    def nodes_change(self, changed: list[Node]) -> None:
        for node in changed:
            self.nodes.put(node)
            self.state.node_changed(node.metadata.name)
        self.open = True

    @rule(name=st.sampled_from(NODES))
    def a_node_goes(self, name: str) -> None:
        self.nodes.drop(name)
        self.state.node_changed(name)
        self.open = True

    @rule(service=services)
    def the_service_changes(self, service: Service) -> None:
        self.service = service
        self.state.put_service(service)
        self.open = True

    @rule(data=st.data())
    def somebody_edits_a_slice(self, data: st.DataObject) -> None:
        if not self.stored:
            return
        victim = data.draw(st.sampled_from(self.stored))
        stranger = Endpoint(("10.9.9.9",), EndpointConditions(True, True, False))
        double = Endpoint(
            ("10.0.0.1",),
            EndpointConditions(True, True, False),
            target_ref=ObjectReference("Pod", "shop", "web-1", "uid-web-1"),
        )
        edited = data.draw(
            st.sampled_from(
                (
                    replace(victim, endpoints=(*victim.endpoints, stranger)),
                    # No more than fit: whom an edit puts into a full slice Kubernetes leaves there.
                    replace(
                        victim,
                        endpoints=(*victim.endpoints, double)[-self.limits.max_endpoints :],
                    ),
                    replace(victim, endpoints=victim.endpoints[1:]),
                    replace(victim, endpoints=tuple(reversed(victim.endpoints))),
                    replace(victim, metadata=replace(victim.metadata, owner_references=())),
                    replace(
                        victim,
                        metadata=replace(
                            victim.metadata, labels={**victim.metadata.labels, "team": "y"}
                        ),
                    ),
                    replace(
                        victim,
                        metadata=replace(
                            victim.metadata,
                            labels={SERVICE_NAME: "web", MANAGED_BY: "somebody-else"},
                        ),
                    ),
                )
            )
        )
        others = tuple(s for s in self.stored if s is not victim)
        self.stored = tuple(sorted((*others, edited), key=lambda s: s.metadata.name))
        self.state.put_slices([edited])
        self.open = True

    @rule(data=st.data())
    def somebody_deletes_a_slice(self, data: st.DataObject) -> None:
        if not self.stored:
            return
        victim = data.draw(st.sampled_from(self.stored))
        self.stored = tuple(s for s in self.stored if s is not victim)
        self.state.drop_slice(victim.metadata.name)
        self.open = True

    @rule(data=st.data())
    def a_plan_is_written_in_part(self, data: st.DataObject) -> None:
        plan = self.plan()
        writes = [*plan.updates, *plan.creates]
        if not writes or plan.deletes:
            return
        done = data.draw(st.sampled_from(writes))
        self.stored = apply(self.stored, ServicePlan(updates=(done,)))
        self.state.put_slices([done])
        self.open = True

    @rule()
    def a_plan_is_written_slice_by_slice(self) -> None:
        plan = self.plan()
        self.stored = apply(self.stored, plan)
        for gone in plan.deletes:
            self.state.drop_slice(gone.metadata.name)
        for written in (*plan.updates, *plan.creates):
            self.state.wrote(written)
        self.state.remember(plan.memory)
        self.open = False

    @rule()
    def a_plan_is_written(self) -> None:
        plan = self.plan()
        self.stored = apply(self.stored, plan)
        self.state.commit(plan)
        self.open = False

    def plan(self) -> ServicePlan:
        """Ask both ways for the plan, and hold them against each other."""
        whole = reconcile(
            self.service,
            sorted(self.pods.values(), key=lambda pod: pod.metadata.uid, reverse=True),
            self.nodes,
            self.stored,
            rules=self.limits,
            memory=self.state.memory,
        )
        remembered = self.state.plan()
        assert remembered == whole
        return remembered

    @invariant()
    def both_ways_agree(self) -> None:
        if hasattr(self, "state"):
            self.plan()

    @invariant()
    def after_a_write_every_wanted_endpoint_is_in_exactly_one_slice(self) -> None:
        if not hasattr(self, "state") or self.open:
            return
        ours = [s for s in self.stored if s.metadata.labels.get(MANAGED_BY) != "somebody-else"]
        assert all(len(s.endpoints) <= self.limits.max_endpoints for s in ours)
        listed = sorted(
            (s.address_type, e.target_ref.name if e.target_ref else "")
            for s in ours
            for e in s.endpoints
        )
        assert len(listed) == len(set(listed))
        if self.service.metadata.deletion_timestamp is None:
            families = self.service.spec.ip_families
            assert listed == sorted(
                (family, pod.metadata.name)
                for pod in self.pods.values()
                for family in families
                if is_wanted(pod, family, self.nodes, self.service)
            )

    @invariant()
    def after_a_write_nothing_is_left_to_write(self) -> None:
        if not hasattr(self, "state") or self.open:
            return
        again = self.plan()
        assert not again.creates
        assert not again.deletes
        # Hints by CPU share may write a slice again without a change, as Kubernetes does.
        before = {s.metadata.name: s for s in self.stored}
        assert all(before[s.metadata.name] == s for s in again.updates)


def is_wanted(pod: Pod, family: str, nodes: Nodes, service: Service) -> bool:
    """Say in the plainest way whether a pod is to be listed."""
    return (
        pod.status.phase == "Running"
        and any((":" in ip.ip) == (family == "IPv6") for ip in pod.status.pod_ips)
        and (pod.spec.node_name in nodes or service.spec.publish_not_ready_addresses)
    )


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=300, stateful_step_count=30, deadline=None)
