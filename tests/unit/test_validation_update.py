"""Replacing a stored Service or EndpointSlice by another."""

from __future__ import annotations

from typing import Any

from api_objects import causes, invalid, service, slice_of
from nearwise.model.validation import Ranges, Verdict, validate, validate_update

DUAL = ("10.96.0.0/16", "fd00::/112")


class Stored:
    """A Service that was created, with the ranges of its cluster."""

    def __init__(self, networks: tuple[str, ...] = ("10.96.0.0/16",), **spec: Any) -> None:
        self.ranges = Ranges(networks)
        verdict = validate(service(**spec), allocator=self.ranges)
        assert verdict.stored, verdict.message
        self.object = verdict.stored
        self.spec = self.object["spec"]

    def becomes(self, metadata: dict[str, Any] | None = None, **spec: Any) -> Verdict:
        return validate_update(service(metadata, **spec), self.object, allocator=self.ranges)


def spec_of(verdict: Verdict) -> dict[str, Any]:
    assert verdict.stored, verdict.message
    found: dict[str, Any] = verdict.stored["spec"]
    return found


# --- Services -----------------------------------------------------------------------------


def test_what_the_server_gave_stays_when_a_client_leaves_it_out() -> None:
    old = Stored(type="LoadBalancer", externalTrafficPolicy="Local")

    new = old.becomes(type="LoadBalancer", externalTrafficPolicy="Local")

    assert new.status == 200
    assert spec_of(new) == old.spec


def test_node_ports_follow_the_names_of_ports() -> None:
    old = Stored(
        type="NodePort",
        ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 30081}],
    )
    new = old.becomes(
        type="NodePort",
        ports=[{"name": "b", "port": 82}, {"name": "c", "port": 83}, {"name": "a", "port": 80}],
    )
    assert [port["nodePort"] for port in spec_of(new)["ports"]] == [30081, 30087, 30086]


def test_another_address_is_refused_and_not_taken() -> None:
    old = Stored()

    new = old.becomes(clusterIP="10.96.9.9", clusterIPs=["10.96.9.9"])

    assert (new.status, causes(new)) == (
        422,
        invalid("spec.clusterIPs[0]", '["10.96.9.9"]', "may not change once set"),
    )
    assert old.ranges.address("IPv4", "10.96.9.9") == "10.96.9.9"


def test_an_old_client_that_changes_only_the_older_field_is_understood() -> None:
    old = Stored()
    sent = {"clusterIP": "10.96.9.9", "clusterIPs": old.spec["clusterIPs"]}
    assert causes(old.becomes(**sent)) == invalid(
        "spec.clusterIPs[0]", '["10.96.9.9"]', "may not change once set"
    )


def test_a_service_does_not_turn_headless() -> None:
    assert causes(Stored().becomes(clusterIP="None")) == invalid(
        "spec.clusterIPs[0]", '["None"]', "may not change once set"
    )


def test_a_type_leaves_behind_what_only_it_needs() -> None:
    old = Stored(type="LoadBalancer", externalTrafficPolicy="Local", loadBalancerClass="a.b/c")
    sent = {key: value for key, value in old.spec.items() if key != "type"}

    new = spec_of(old.becomes(**sent, type="ClusterIP"))

    assert new["clusterIP"] == old.spec["clusterIP"]
    assert "nodePort" not in new["ports"][0]
    assert not {
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "allocateLoadBalancerNodePorts",
        "loadBalancerClass",
    } & set(new)


def test_what_a_client_changes_along_with_the_type_is_not_dropped_but_refused() -> None:
    old = Stored(type="LoadBalancer", externalTrafficPolicy="Local", loadBalancerClass="a.b/c")

    new = old.becomes(
        ports=[{"port": 80, "nodePort": 31000}],
        externalTrafficPolicy="Cluster",
        healthCheckNodePort=31001,
        allocateLoadBalancerNodePorts=False,
        loadBalancerClass="x.y/z",
    )

    assert [cause.field for cause in new.causes] == [
        "spec.ports[0].nodePort",
        "spec.allocateLoadBalancerNodePorts",
        "spec.loadBalancerClass",
        "spec.externalTrafficPolicy",
        "spec.healthCheckNodePort",
    ]


def test_an_external_name_does_not_keep_families_that_a_client_changes() -> None:
    new = Stored().becomes(
        type="ExternalName",
        externalName="example.com",
        clusterIP="10.96.9.9",
        ipFamilies=["IPv6"],
        ipFamilyPolicy="RequireDualStack",
    )
    assert [cause.field for cause in new.causes] == [
        "spec.clusterIPs",
        "spec.ipFamilies",
        "spec.ipFamilyPolicy",
    ]


def test_a_broken_body_is_told_before_anything_else() -> None:
    assert Stored().becomes(ports=3).status == 400


def test_an_external_name_gives_its_address_back_and_gets_one_again() -> None:
    old = Stored()
    sent = {**old.spec, "type": "ExternalName", "externalName": "example.com"}

    external = old.becomes(**sent)

    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & set(spec_of(external))
    assert external.stored
    back = validate_update(service(), external.stored, allocator=old.ranges)
    assert spec_of(back)["clusterIP"] == "10.96.1.2"


def test_the_class_of_a_load_balancer_and_its_check_port_stay() -> None:
    old = Stored(type="LoadBalancer", externalTrafficPolicy="Local", loadBalancerClass="a.b/c")
    new = old.becomes(
        type="LoadBalancer",
        externalTrafficPolicy="Local",
        loadBalancerClass="x.y/z",
        healthCheckNodePort=31999,
    )
    assert causes(new) == [
        *invalid("spec.loadBalancerClass", '"x.y/z"', "may not change once set"),
        "spec.healthCheckNodePort: Forbidden: field is immutable",
    ]


def test_a_second_family_comes_and_goes_on_request() -> None:
    old = Stored(DUAL)
    both = old.becomes(ipFamilyPolicy="RequireDualStack")
    assert spec_of(both)["clusterIPs"] == ["10.96.1.1", "fd00::101"]
    assert both.stored

    single = validate_update(
        service(**{**spec_of(both), "ipFamilyPolicy": "SingleStack"}),
        both.stored,
        allocator=old.ranges,
    )
    assert spec_of(single)["clusterIPs"] == ["10.96.1.1"]

    kept = validate_update(
        service(**{**spec_of(both), "clusterIPs": ["10.96.1.1"], "ipFamilies": ["IPv4"]}),
        both.stored,
        allocator=old.ranges,
    )
    assert causes(kept) == invalid(
        "spec.ipFamilyPolicy",
        '"RequireDualStack"',
        "must be 'SingleStack' to release the secondary cluster IP",
        "must be 'SingleStack' to release the secondary IP family",
    )


def test_preferring_two_families_changes_nothing_by_itself() -> None:
    old = Stored(ipFamilyPolicy="PreferDualStack")
    dual = Ranges(DUAL)
    sent = {**old.spec, "ipFamilyPolicy": "PreferDualStack"}

    new = validate_update(service(**sent), old.object, allocator=dual)

    assert spec_of(new)["clusterIPs"] == ["10.96.1.1"]


def test_what_was_stored_under_older_rules_stays_good() -> None:
    old = Stored(type="LoadBalancer")
    old.object["spec"]["externalIPs"] = ["01.2.3.4"]
    old.object["spec"]["loadBalancerSourceRanges"] = ["10.0.0.1/8"]

    kept = old.becomes(
        type="LoadBalancer",
        externalIPs=["01.2.3.4"],
        loadBalancerSourceRanges=["10.0.0.1/8"],
    )
    more = old.becomes(type="LoadBalancer", externalIPs=["01.2.3.4", "01.2.3.5"])

    assert kept.status == 200
    assert causes(more) == invalid("spec.externalIPs[1]", '"01.2.3.5"', "must not have leading 0s")


def test_the_status_is_not_the_clients() -> None:
    old = Stored(type="LoadBalancer")
    old.object["status"] = {"loadBalancer": {"ingress": [{"ip": "9.9.9.9", "ipMode": "VIP"}]}}

    new = old.becomes(type="LoadBalancer")

    assert new.stored
    assert new.stored["status"] == old.object["status"]


# --- Metadata -----------------------------------------------------------------------------


def test_who_an_object_is_does_not_change() -> None:
    old = Stored()
    old.object["metadata"] |= {"uid": "u-1", "creationTimestamp": "2026-11-30T05:44:46Z"}

    new = old.becomes({"name": "other", "uid": "u-2"})

    assert causes(new) == [
        *invalid("metadata.name", '"other"', "field is immutable"),
        *invalid("metadata.uid", '"u-2"', "field is immutable"),
    ]
    assert old.becomes().stored == old.object


def test_an_object_on_its_way_out_gets_no_new_finalizers() -> None:
    old = Stored()
    old.object["metadata"] |= {
        "deletionTimestamp": "2026-11-30T05:44:46Z",
        "finalizers": ["a.b/c"],
    }
    assert causes(old.becomes({"finalizers": ["a.b/c", "x.y/z"]})) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
        'deleted, found new finalizers []string{"x.y/z"}'
    ]
    assert old.becomes({"finalizers": []}).status == 200


# --- EndpointSlices -----------------------------------------------------------------------


def test_a_slice_keeps_its_address_type_and_known_addresses_are_not_looked_at_again() -> None:
    old = validate(slice_of({"addresses": ["10.1.1.1"]})).stored
    assert old
    new = validate_update(slice_of({"addresses": ["10.1.1.1"]}, addressType="IPv6"), old)

    assert causes(new) == invalid("addressType", '"IPv6"', "field is immutable")


def test_the_generation_counts_changes_of_content_and_labels() -> None:
    old = validate(slice_of({"addresses": ["10.1.1.1"]})).stored
    assert old

    def generation(body: dict[str, Any]) -> int:
        stored = validate_update(body, old).stored
        assert stored
        return int(stored["metadata"]["generation"])

    assert generation(slice_of({"addresses": ["10.1.1.1"]})) == 1
    assert generation(slice_of({"addresses": ["10.1.1.2"]})) == 2
    labelled = {"name": "web-abc12", "labels": {"a": "b"}}
    assert generation(slice_of({"addresses": ["10.1.1.1"]}, metadata=labelled)) == 2
    annotated = {"name": "web-abc12", "annotations": {"a": "b"}, "generation": 7}
    assert generation(slice_of({"addresses": ["10.1.1.1"]}, metadata=annotated)) == 1
