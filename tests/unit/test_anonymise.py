"""Anonymised snapshots: nothing can be recognised, everything fits together as before."""

from __future__ import annotations

import gzip
import ipaddress
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.cli.output import Format, print_document
from nearwise.client.dump import load
from nearwise.insight.anonymise import _rules, anonymise
from nearwise.insight.explain import explain
from nearwise.insight.kept_objects import kept
from nearwise.insight.pseudonyms import Pseudonyms
from nearwise.insight.world import World
from nearwise.model import Endpoints, EndpointSlice, Event, Namespace, Node, Pod, Service
from nearwise.model.codec import from_dict, read, to_dict
from nearwise.model.objects import Objects
from nearwise.model.validation import validate
from nearwise.vectors.route import answer as route

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
DUMPS = [pytest.param(path, id=path.stem) for path in EXAMPLES if path.stem != "fleet"]
VECTORS = Path(__file__).parents[1] / "vectors"
SALT = "salt"
Items = list[dict[str, Any]]


def dumped(path: Path) -> Items:
    return kept(load([str(path)]))


def of_kind(items: Items, kind: str) -> Iterator[dict[str, Any]]:
    return (item for item in items if item["kind"] == kind)


# --- Nothing is recognised ------------------------------------------------------------------

# What every cluster has, and what only says what it says.
SYSTEM = {"default", "kube-system", "kube-public", "kube-node-lease", "kubernetes"}
HARMLESS = SYSTEM | {"Auto", "auto", "None", "true", ""}


def names_in(items: Items) -> set[str]:
    """Collect what could tell whose cluster it is."""
    found: set[str] = set()
    for item in items:
        metadata = item["metadata"]
        found |= {metadata["name"], metadata.get("namespace", ""), metadata.get("uid", "")}
        found |= {
            value for key, value in metadata.get("labels", {}).items() if "managed" not in key
        }
        found |= {key for key in metadata.get("labels", {}) if "kubernetes.io" not in key}
        found |= set(re.findall(r'"(?:name|hostname|zone)": "([^"]+)"', json.dumps(item)))
        found |= set(re.findall(r"\d+\.\d+\.\d+\.\d+", json.dumps(item)))
    return found - HARMLESS


@pytest.mark.parametrize("path", DUMPS)
def test_no_name_address_or_label_of_the_original_is_left(path: Path) -> None:
    items = dumped(path)
    text = json.dumps(anonymise(items, "salt")).replace('"source": {"component":', "")
    words = set(re.findall(r'[^"\s,()/]+', text))
    assert names_in(items) & words == set()


def test_the_words_of_others_are_left_out_and_those_of_our_controllers_renamed() -> None:
    message = 'Service shop/web: node "worker-1" not found, 10.1.2.3 and 8.8.8.8 (4 endpoints)'

    def event(component: str) -> dict[str, Any]:
        return {
            "kind": "Event",
            "metadata": {"name": "web.1", "namespace": "shop"},
            "involvedObject": {"kind": "Service", "namespace": "shop", "name": "web"},
            "message": message,
            "source": {"component": component},
        }

    items: Items = [
        event("endpoint-slice-controller"),
        event("kubelet"),
        {"kind": "Node", "metadata": {"name": "worker-1"}},
        {"kind": "Service", "metadata": {"name": "web", "namespace": "shop"}},
    ]
    node, service, told = anonymise(items, "salt")
    names = Pseudonyms("salt")
    assert told["message"] == (
        f"Service {names.namespace('shop')}/{service['metadata']['name']}: "
        f'node "{node["metadata"]["name"]}" not found, {names.address("10.1.2.3")} and '
        f"{names.address('8.8.8.8')} (4 endpoints)"
    )
    assert told["involvedObject"]["name"] == service["metadata"]["name"]


@pytest.mark.parametrize(
    "obj",
    [Node, Namespace, Service, Endpoints, EndpointSlice, Pod, Event],
    ids=lambda t: t.__name__,
)
def test_every_field_that_the_model_reads_has_a_rule_or_is_left_out_on_purpose(obj: type) -> None:
    left_out = {
        "metadata.generateName",  # but that of slices
        "metadata.finalizers",
        "status.conditions.reason",
        "status.conditions.message",
        "status.conditions.observedGeneration",
        *("reportingInstance", "action", "related"),  # controllers of endpoints tell none
    }
    rule = _rules(Pseudonyms(""))[obj.__name__]
    assert set(fields_without_rule(obj, rule)) <= left_out


def fields_without_rule(kind: Any, rule: Any, path: str = "") -> Iterator[str]:
    if isinstance(rule, list):
        (rule,) = rule
    if not isinstance(rule, dict):
        return
    for field in msgspec.structs.fields(kind):
        here = f"{path}.{field.encode_name}".removeprefix(".")
        if field.encode_name not in rule:
            yield here
        elif struct := struct_in(field.type):
            yield from fields_without_rule(struct, rule[field.encode_name], here)


def struct_in(hint: Any) -> Any:
    """Return the struct that a field holds, itself, perhaps, or in a tuple."""
    for each in (hint, *getattr(hint, "__args__", ())):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
    return None


# --- Everything fits together as before -----------------------------------------------------


def relations(items: Items) -> set[tuple[str, ...]]:
    """Say who belongs to whom by resource version, which anonymising leaves alone."""
    said: set[tuple[str, ...]] = set()
    version = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each[
            "metadata"
        ]["resourceVersion"]
        for each in items
    }

    def find(kind: str, namespace: str, name: str) -> str:
        return str(version.get((kind, namespace, name), "nobody"))

    zones: dict[str, str] = {}
    for node in sorted(of_kind(items, "Node"), key=lambda it: it["metadata"]["resourceVersion"]):
        labels = node["metadata"]["labels"]
        rv = node["metadata"]["resourceVersion"]
        assert labels["kubernetes.io/hostname"] == node["metadata"]["name"]
        first = zones.setdefault(labels["topology.kubernetes.io/zone"], rv)
        said.add(("same zone", rv, first))
    for pod in of_kind(items, "Pod"):
        rv = pod["metadata"]["resourceVersion"]
        said.add(("runs on", rv, find("Node", "", pod["spec"].get("nodeName", ""))))
    for service in of_kind(items, "Service"):
        wanted = service["spec"].get("selector", {}).items()
        for pod in of_kind(items, "Pod"):
            labels = pod["metadata"].get("labels", {}).items()
            if (
                wanted
                and wanted <= labels
                and pod["metadata"]["namespace"] == service["metadata"]["namespace"]
            ):
                rvs = (each["metadata"]["resourceVersion"] for each in (service, pod))
                said.add(("selects", *rvs))
    for each in of_kind(items, "EndpointSlice"):
        metadata, namespace = each["metadata"], each["metadata"]["namespace"]
        rv = metadata["resourceVersion"]
        name = metadata["labels"]["kubernetes.io/service-name"]
        said.add(("slice of", rv, find("Service", namespace, name)))
        for endpoint in each.get("endpoints", ()):
            target = endpoint.get("targetRef", {})
            hints = endpoint.get("hints", {})
            said.add(
                (
                    "endpoint",
                    rv,
                    find("Pod", target.get("namespace", ""), target.get("name", "")),
                    find("Node", "", endpoint.get("nodeName", "")),
                    zones.get(endpoint.get("zone", ""), "nowhere"),
                    *(zones.get(zone["name"], "nowhere") for zone in hints.get("forZones", ())),
                    *(find("Node", "", node["name"]) for node in hints.get("forNodes", ())),
                )
            )
    for event in of_kind(items, "Event"):
        about = event["involvedObject"]
        if about.get("kind") == "Service" and "endpoint" in event["source"]["component"]:
            rv = event["metadata"]["resourceVersion"]
            said.add(("about", rv, find("Service", about["namespace"], about["name"])))
    return said


@pytest.mark.parametrize("path", DUMPS)
def test_who_belongs_to_whom_stays(path: Path) -> None:
    items = dumped(path)
    before = relations(items)
    assert len(before) > 10
    assert relations(anonymise(items, "salt")) == before


@pytest.mark.parametrize("path", DUMPS)
def test_the_order_of_the_objects_does_not_matter(path: Path) -> None:
    items = dumped(path)
    assert anonymise(items[::-1], "salt") == anonymise(items, "salt")


def test_a_snapshot_taken_later_has_the_same_names_under_the_same_salt_only() -> None:
    items = dumped(EXAMPLES[-1])
    later = items[5:]
    everything = anonymise(items, "salt")
    assert all(item in everything for item in anonymise(later, "salt"))
    other = {item["metadata"]["name"] for item in anonymise(items, "pepper")}
    assert other & {item["metadata"]["name"] for item in everything} <= SYSTEM


# --- Names one by one -----------------------------------------------------------------------

ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)


@given(st.lists(ADDRESSES, unique=True, max_size=50))
def test_addresses_keep_their_family_and_whether_they_are_fit_for_an_endpoint(
    old: list[str],
) -> None:
    def sort_of(text: str) -> tuple[int, bool]:
        it = ipaddress.ip_address(text)
        unfit = it.is_loopback or it.is_link_local or it.is_multicast or it.is_unspecified
        return it.version, unfit

    names = Pseudonyms("salt")
    new = [names.address(text) for text in old]
    assert [sort_of(text) for text in new] == [sort_of(text) for text in old]
    assert len(set(new)) == len(old)
    assert [names.address(text) for text in old] == new


@pytest.mark.parametrize("text", ["010.0.0.1", "10.0.0", "example.com", "10.0.0.1/24", "1:2:3"])
def test_what_is_no_address_stays_none(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        ipaddress.ip_address(Pseudonyms("salt").address(text))


def test_no_address_at_all_stays() -> None:
    assert [Pseudonyms("salt").address(text) for text in ("", "None")] == ["", "None"]


@pytest.mark.parametrize(
    ("old", "length"), [("203.0.113.0/24", "/24"), ("0.0.0.0/0", "/0"), ("2001:db8::/32", "/32")]
)
def test_ranges_keep_their_family_and_length(old: str, length: str) -> None:
    new = Pseudonyms("salt").range(old)
    assert ipaddress.ip_network(new).version == ipaddress.ip_network(old).version
    assert new.endswith(length)


@given(st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=50))
def test_names_stay_apart_and_are_valid(old: list[str]) -> None:
    names = Pseudonyms("salt")
    ports = [names.port(text) for text in old if text not in SYSTEM | {"None"}]
    assert len(set(ports)) == len(ports)
    assert all(re.fullmatch(r"p-[0-9a-f]{8,13}", port) for port in ports)


def test_two_names_whose_hashes_begin_alike_stay_apart() -> None:
    names = Pseudonyms("salt")
    names._digest = lambda text, turn=0: "0" * 20 + text  # type: ignore[method-assign]
    assert [names.pod("a"), names.pod("b"), names.pod("a")] == [
        "pod-00000000",
        "pod-000000000",
        "pod-00000000",
    ]


def test_a_generated_slice_name_follows_its_service_and_keeps_its_ending() -> None:
    names = Pseudonyms("salt")
    assert names.slice("web-x7k2p") == names.service("web") + "-x7k2p"
    assert names.slice_stem("web-") == names.service("web") + "-"
    assert names.slice("by-hand").startswith("slice-")


def test_labels_keep_what_kubernetes_gives_a_meaning() -> None:
    names = Pseudonyms("salt")
    old = {
        "topology.kubernetes.io/zone": "eu-1a",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "service.kubernetes.io/headless": "",
        "node-role.kubernetes.io/control-plane": "",
        "acme.example/team": "payments",
        "app": "payments",
    }
    new = names.labels(old)
    assert new == {
        "topology.kubernetes.io/zone": names.zone("eu-1a"),
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "service.kubernetes.io/headless": "",
        "node-role.kubernetes.io/control-plane": "",
        names._key("acme.example/team"): names.value("payments"),
        names._key("app"): names.value("payments"),
    }
    foreign = names.labels({"endpointslice.kubernetes.io/managed-by": "acme-operator"})
    assert foreign == {"endpointslice.kubernetes.io/managed-by": names.value("acme-operator")}


def test_annotations_that_decide_stay_and_others_go() -> None:
    names = Pseudonyms("salt")
    assert names.annotations(
        {
            "service.kubernetes.io/topology-mode": "Auto",
            "service.kubernetes.io/topology-aware-hints": "secret plan",
            "control-plane.alpha.kubernetes.io/leader": '{"holderIdentity":"ann"}',
            "acme.example/note": "call Ann",
        }
    ) == {
        "service.kubernetes.io/topology-mode": "Auto",
        "service.kubernetes.io/topology-aware-hints": names.value("secret plan"),
        "control-plane.alpha.kubernetes.io/leader": "",
    }


def test_owners_of_foreign_kinds_are_hidden() -> None:
    new = Pseudonyms("salt").owner(
        {"apiVersion": "acme.com/v1", "kind": "AcmeDatabase", "name": "main", "controller": True}
    )
    assert (new["apiVersion"], new["kind"], new["controller"]) == ("example.com/v1", "Custom", True)


def test_taints_and_tolerations_still_fit() -> None:
    names = Pseudonyms("salt")
    taint = names.taint({"key": "team", "value": "payments", "effect": "NoSchedule"})
    toleration = names.taint({"key": "team", "operator": "Equal", "value": "payments"})
    assert (taint["key"], taint["value"]) == (toleration["key"], toleration["value"])
    assert names.taint({"operator": "Exists"}) == {"operator": "Exists"}
    known = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    assert names.taint(known) == known


def test_an_empty_cluster_stays_empty() -> None:
    assert anonymise(kept(Objects()), "salt") == []


# --- The answers stay -----------------------------------------------------------------------


def recorded_slices() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Give the slices that were sent to an API server, and what it said."""
    for line in gzip.decompress((VECTORS / "validation.jsonl.gz").read_bytes()).splitlines():
        case = json.loads(line)
        if case["object"]["kind"] == "EndpointSlice" and case["case"] != "zone 123":
            sent = to_dict(from_dict(case["object"], EndpointSlice))
            yield case["case"], case["status"], sent


@pytest.mark.parametrize(("case", "status", "sent"), list(recorded_slices()))
def test_a_slice_that_the_api_server_accepts_is_accepted_and_a_bad_ip_refused(
    case: str, status: int, sent: dict[str, Any]
) -> None:
    said = validate(anonymise([sent], SALT)[0]).status
    if status == 201 or case.startswith(("v4 address", "v6 address")):
        assert said == status


ROUTES = gzip.decompress((VECTORS / "route.jsonl.gz").read_bytes()).splitlines()


def asked_under_other_names(question: dict[str, Any]) -> dict[str, Any]:
    client = {"name": question["nodeName"], "labels": question.get("nodeLabels", {})}
    items: Items = [
        {"kind": "Node", "metadata": client},
        {"kind": "Service", **question["service"]},
        *({"kind": "EndpointSlice", **each} for each in question["slices"]),
    ]
    node, service, *slices = anonymise(items, SALT)
    return {
        **question,
        "service": service,
        "slices": slices,
        "nodeName": node["metadata"]["name"],
        "nodeLabels": node["metadata"]["labels"],
    }


def renamed(answers: dict[str, Any]) -> dict[str, Any]:
    """Return answers as they must read under other names."""
    names = Pseudonyms(SALT)

    def endpoint(text: str) -> str:
        host, _, port = text.rpartition(":")
        new = names.address(host.strip("[]"))
        return f"[{new}]:{port}" if ":" in new else f"{new}:{port}"

    def port(key: str) -> str:
        name, _, protocol = key.partition("/")
        return f"{names.port(name)}/{protocol}"

    def change(field: str, value: Any) -> Any:
        if field in ("cluster", "local", "all"):
            return sorted(map(endpoint, value))
        if field != "endpoints":
            return value
        changed = [
            each
            | {
                "endpoint": endpoint(each["endpoint"]),
                "forZones": sorted(map(names.zone, each["forZones"])),
                "forNodes": sorted(map(names.node, each["forNodes"])),
            }
            for each in value
        ]
        return sorted(changed, key=lambda each: str(each["endpoint"]))

    return {
        port(key): {field: change(field, value) for field, value in said.items()}
        for key, said in answers.items()
    }


@pytest.mark.parametrize("number", range(0, len(ROUTES), 10))
def test_every_recorded_question_is_answered_the_same_under_other_names(number: int) -> None:
    for line in ROUTES[number : number + 10]:
        question = json.loads(line)["input"]
        assert route(asked_under_other_names(question)) == renamed(route(question))


def facts_of(
    world: World, key: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> Counter[str]:
    """Explain a service; return every number, truth value and code in what is said."""
    print_document(Format.JSON, "Explanation", {"explanation": explain(world, key)})
    printed = json.loads(capsys.readouterr().out)

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield str(value.get("code"))
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                yield from walk(each)
        elif not isinstance(value, str):
            yield repr(value)

    return Counter(walk(printed))


@pytest.mark.parametrize("path", DUMPS)
def test_explain_says_the_same_under_other_names(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = load([str(path)])
    items = anonymise(kept(objects), SALT)
    before, after = (
        World(objects),
        World(read(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode())),
    )
    names = Pseudonyms(SALT)
    for namespace, name in before.services:
        key = names.namespace(namespace), names.service(name)
        assert facts_of(after, key, capsys) == facts_of(before, (namespace, name), capsys)
