"""Objects as kubectl prints them: recorded Tables to the letter, then each rule by itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.server.resources import RESOURCES
from nearwise.server.tables import human_duration, table
from table_rows import NOW, ago, obj, row, shown

VECTORS = Path(__file__).parent.parent / "vectors" / "http.jsonl.gz"

# --- Recorded -----------------------------------------------------------------------------


def recorded() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


def last_seen(answers: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the objects of earlier answers by their uids, as they were last shown."""
    found = {}
    for answer in answers:
        response = answer["response"]
        objects = response.get("items", [response]) if isinstance(response, dict) else []
        for each in objects:
            if uid := each.get("metadata", {}).get("uid"):
                found[uid] = each
    return found


TABLES = [
    pytest.param(number, answer, id=answer["path"])
    for number, answer in enumerate(recorded())
    if answer["note"] == "table"
]


def test_eight_tables_are_recorded() -> None:
    assert len(TABLES) == 8


@pytest.mark.parametrize(("number", "answer"), TABLES)
def test_a_table_is_the_one_that_kubernetes_made_of_the_same_objects(
    number: int, answer: dict[str, Any]
) -> None:
    before = last_seen(recorded()[:number])
    objects = [
        # Namespaces that were there from the start were never shown whole.
        {"status": {"phase": "Active"}, **before.get(metadata["uid"], {}), "metadata": metadata}
        for metadata in (each["object"]["metadata"] for each in answer["response"]["rows"])
    ]
    *_, plural = answer["path"].split("/")
    group = answer["path"].split("/")[2] if answer["path"].startswith("/apis/") else ""

    made = table(plural, group, objects, now=NOW, list_metadata=answer["response"]["metadata"])

    assert made == answer["response"]


# --- Ages ---------------------------------------------------------------------------------

SECOND, MINUTE, HOUR, DAY, YEAR = 1, 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (5 * MINUTE + 3, "5m3s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (48 * HOUR - 1, "47h"),
        (2 * DAY, "2d"),
        (3 * DAY + 4 * HOUR, "3d4h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 10 * DAY, "2y10d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 300 * DAY, "8y"),
    ],
)
def test_a_duration_is_told_in_one_or_two_units(seconds: float, words: str) -> None:
    assert human_duration(seconds) == words


@pytest.mark.parametrize(
    "created",
    [None, "", "yesterday", "0001-01-01T00:00:00Z", "2026-11-30T05:52:01", 7],
)
def test_the_age_of_an_object_without_a_time_is_unknown(created: Any) -> None:
    namespace = {"metadata": {"name": "demo", "creationTimestamp": created}}
    assert shown("namespaces", namespace)["Age"] == "<unknown>"


def test_a_time_may_have_parts_of_a_second_and_an_offset() -> None:
    namespace = obj(created="2026-11-30T06:50:36.500000+01:00")
    assert shown("namespaces", namespace)["Age"] == "89s"


# --- Services and their endpoints ---------------------------------------------------------


def service(kind: str = "ClusterIP", status: dict[str, Any] | None = None, **spec: Any) -> Any:
    return obj(spec={"type": kind, **spec}, status=status or {})


INGRESS = {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"hostname": "lb.example"}, {}]}}


@pytest.mark.parametrize(
    ("of", "external"),
    [
        (service(), "<none>"),
        (service("NodePort", externalIPs=["192.0.2.1", "192.0.2.2"]), "192.0.2.1,192.0.2.2"),
        (service("LoadBalancer"), "<pending>"),
        (service("LoadBalancer", INGRESS), "192.0.2.9,lb.example"),
        (service("LoadBalancer", INGRESS, externalIPs=["a"]), "192.0.2.9,lb.example,a"),
        (service("LoadBalancer", externalIPs=["192.0.2.1"]), "192.0.2.1"),
        (service("ExternalName", externalName="db.example"), "db.example"),
        (service("Odd"), "<unknown>"),
    ],
)
def test_a_service_shows_where_it_is_reached_from_outside(of: Any, external: str) -> None:
    assert shown("services", of)["External-IP"] == external


def test_a_service_shows_its_ports_with_node_ports_and_its_selector() -> None:
    ports = [
        {"port": 80, "nodePort": 30080, "protocol": "TCP"},
        {"port": 53, "protocol": "UDP"},
    ]
    cells = shown(
        "services", service(ports=ports, clusterIPs=["None"], selector={"b": "2", "a": "1"})
    )

    assert cells["Port(s)"] == "80:30080/TCP,53/UDP"
    assert cells["Cluster-IP"] == "None"
    assert cells["Selector"] == "a=1,b=2"


def test_endpoints_show_three_places_and_how_many_more_there_are() -> None:
    addresses = [{"ip": "10.0.0.1"}, {"ip": "2001:db8::1"}]
    ports = [{"port": 80}, {"port": 443}]
    endpoints = obj(subsets=[{"addresses": addresses, "ports": ports}])

    cells = shown("endpoints", endpoints)

    assert cells["Endpoints"] == "10.0.0.1:80,[2001:db8::1]:80,10.0.0.1:443 + 1 more..."


def test_endpoints_without_ports_show_addresses() -> None:
    endpoints = obj(subsets=[{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}])
    assert shown("endpoints", endpoints)["Endpoints"] == "10.0.0.1,10.0.0.2"


@pytest.mark.parametrize(
    ("subsets", "words"),
    [(None, "<none>"), ([], "<none>"), ([{"notReadyAddresses": [{"ip": "10.0.0.1"}]}], "")],
)
def test_endpoints_without_ready_addresses_show_none_or_nothing(subsets: Any, words: str) -> None:
    assert shown("endpoints", obj(subsets=subsets))["Endpoints"] == words


def test_a_slice_shows_three_ports_and_three_addresses() -> None:
    made = shown(
        "endpointslices.discovery.k8s.io",
        obj(
            addressType="IPv4",
            endpoints=[{"addresses": [f"10.0.0.{n}"]} for n in range(5)],
            ports=[{"port": 80}, {"name": "any"}, {"name": None}, {"port": 443}],
        ),
    )

    assert made["AddressType"] == "IPv4"
    assert made["Ports"] == "80,any,* + 1 more..."
    assert made["Endpoints"] == "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."


def test_an_empty_slice_shows_that_nothing_is_set() -> None:
    made = shown("endpointslices.discovery.k8s.io", obj(endpoints=None, ports=None))
    assert (made["Ports"], made["Endpoints"]) == ("<unset>", "<unset>")


# --- Nodes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ready", "spec", "words"),
    [
        ("True", {}, "Ready"),
        ("Unknown", {}, "NotReady"),
        (None, {}, "Unknown"),
        ("True", {"unschedulable": True}, "Ready,SchedulingDisabled"),
    ],
)
def test_a_node_shows_whether_it_is_ready(ready: str | None, spec: Any, words: str) -> None:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    node = obj(spec=spec, status={"conditions": conditions})
    assert shown("nodes", node)["Status"] == words


def test_a_node_shows_its_roles_addresses_and_software() -> None:
    node = obj(
        status={
            "addresses": [
                {"type": "Hostname", "address": "n1"},
                {"type": "InternalIP", "address": "10.0.0.1"},
                {"type": "InternalIP", "address": "2001:db8::1"},
            ],
            "nodeInfo": {"kubeletVersion": "v1.36.2", "osImage": "Debian"},
        }
    )
    node["metadata"]["labels"] = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/": "",
        "kubernetes.io/role": "edge",
    }

    cells = shown("nodes", node)

    assert cells["Roles"] == "edge,worker"
    assert cells["Version"] == "v1.36.2"
    assert (cells["Internal-IP"], cells["External-IP"]) == ("10.0.0.1", "<none>")
    assert (cells["OS-Image"], cells["Kernel-Version"]) == ("Debian", "<unknown>")


# --- Workloads ----------------------------------------------------------------------------

TEMPLATE = {
    "spec": {
        "containers": [{"name": "web", "image": "web:2"}, {"name": "proxy", "image": "envoy"}],
        "nodeSelector": {"disk": "ssd"},
    }
}
SELECTOR = {
    "matchLabels": {"tier": "front", "app": "web"},
    "matchExpressions": [
        {"key": "env", "operator": "In", "values": ["prod", "dev"]},
        {"key": "canary", "operator": "DoesNotExist"},
        {"key": "zone", "operator": "Exists"},
        {"key": "team", "operator": "NotIn", "values": ["x"]},
    ],
}
SELECTED = "app=web,!canary,env in (dev,prod),team notin (x),tier=front,zone"


def workload(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return obj(spec={"selector": SELECTOR, "template": TEMPLATE, **spec}, status=status)


def test_a_deployment_shows_ready_of_wanted() -> None:
    status = {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}
    assert shown("deployments.apps", workload(status, replicas=3)) == {
        "Name": "web",
        "Ready": "2/3",
        "Up-to-date": 1,
        "Available": 2,
        "Age": "5s",
        "Containers": "web,proxy",
        "Images": "web:2,envoy",
        "Selector": SELECTED,
    }


def test_a_replica_set_shows_numbers() -> None:
    cells = shown("replicasets.apps", workload({"replicas": 2, "readyReplicas": 1}, replicas=3))
    assert (cells["Desired"], cells["Current"], cells["Ready"]) == (3, 2, 1)
    assert cells["Selector"] == SELECTED


def test_a_daemon_set_shows_numbers_and_its_nodes() -> None:
    status = {
        "desiredNumberScheduled": 5,
        "currentNumberScheduled": 4,
        "numberReady": 3,
        "updatedNumberScheduled": 2,
        "numberAvailable": 1,
    }
    made = table("daemonsets", "apps", [workload(status)], now=NOW)
    assert row(made)[:8] == ["web", 5, 4, 3, 2, 1, "disk=ssd", "5s"]


def test_a_stateful_set_shows_ready_of_wanted() -> None:
    made = table("statefulsets", "apps", [workload({"readyReplicas": 1}, replicas=2)], now=NOW)
    assert row(made) == ["web", "1/2", "5s", "web,proxy", "web:2,envoy"]


def test_a_workload_without_anything_wants_one_pod() -> None:
    assert shown("deployments.apps", obj())["Ready"] == "0/1"
    assert shown("replicasets.apps", obj())["Selector"] == "<none>"


# --- Events and small kinds ---------------------------------------------------------------


def test_an_event_of_the_older_form_shows_times_count_and_source() -> None:
    event = obj(
        type="Warning",
        reason="TopologyAwareHintsDisabled",
        message=" too few endpoints\n",
        involvedObject={"kind": "Service", "name": "web", "fieldPath": "spec"},
        source={"component": "endpoint-slice-controller", "host": "n1"},
        firstTimestamp=ago(hours=1),
        lastTimestamp=ago(minutes=3),
        count=7,
    )
    assert shown("events", event) == {
        "Last Seen": "3m",
        "Type": "Warning",
        "Reason": "TopologyAwareHintsDisabled",
        "Object": "service/web",
        "Subobject": "spec",
        "Source": "endpoint-slice-controller, n1",
        "Message": "too few endpoints",
        "First Seen": "60m",
        "Count": 7,
        "Name": "web",
    }


def test_an_event_of_the_newer_form_shows_the_same() -> None:
    event = obj(
        reason="Sync",
        note="done",
        regarding={"kind": "Node"},
        reportingController="ours",
        eventTime="2026-11-30T05:51:06.000000Z",
    )
    cells = shown("events.events.k8s.io", event)
    assert (cells["Last Seen"], cells["First Seen"], cells["Count"]) == ("60s", "60s", 1)
    assert (cells["Object"], cells["Message"], cells["Source"]) == ("node", "done", "ours")


def test_an_event_of_the_newer_form_may_have_been_counted_in_the_older_one() -> None:
    event = obj(
        deprecatedCount=3,
        deprecatedFirstTimestamp=ago(minutes=4),
        deprecatedLastTimestamp=ago(seconds=9),
        deprecatedSource={"component": "old"},
    )
    cells = shown("events.events.k8s.io", event)
    assert (cells["Last Seen"], cells["First Seen"], cells["Count"]) == ("9s", "4m", 3)
    assert cells["Source"] == "old"


def test_the_series_of_an_event_says_when_and_how_often() -> None:
    series = {"count": 9, "lastObservedTime": ago(seconds=30)}
    cells = shown("events", obj(eventTime=ago(minutes=2), series=series, count=1))
    assert (cells["Last Seen"], cells["First Seen"], cells["Count"]) == ("30s", "2m", 9)


def test_a_config_map_counts_its_keys_and_a_service_account_its_secrets() -> None:
    config_map = obj(data={"a": "1", "b": "2"}, binaryData={"c": "eA=="})
    assert shown("configmaps", config_map)["Data"] == 3
    assert shown("serviceaccounts", obj(secrets=[{"name": "s"}]))["Secrets"] == 1


def test_a_lease_that_nobody_holds_shows_nothing() -> None:
    lease = obj(spec={"holderIdentity": None})
    assert shown("leases.coordination.k8s.io", lease)["Holder"] == ""


def test_what_has_no_table_of_its_own_shows_when_it_was_made() -> None:
    assert shown("widgets.example.com", obj(created=ago(days=1))) == {
        "Name": "web",
        "Created At": "2026-11-29T05:52:06Z",
    }


# --- The table itself ---------------------------------------------------------------------


def test_a_row_has_what_was_asked_for_of_its_object() -> None:
    of = {"apiVersion": "v1", "kind": "ConfigMap", **obj(data={"a": "1"})}

    def what(include: Any) -> Any:
        made = table("configmaps", "", [of], now=NOW, include_object=include)
        return made["rows"][0]["object"]

    assert what("None") is None
    assert what("Object") == of
    assert what("Metadata") == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": of["metadata"],
    }


def test_the_table_of_one_object_has_its_version() -> None:
    of = obj()
    of["metadata"]["resourceVersion"] = "42"
    assert table("pods", "", [of], now=NOW)["metadata"] == {"resourceVersion": "42"}


def test_the_table_of_a_list_has_the_metadata_of_the_list() -> None:
    metadata = {"resourceVersion": "9", "continue": "x", "remainingItemCount": 3}
    assert table("pods", "", [], now=NOW, list_metadata=metadata)["metadata"] == metadata


WORDS = st.sampled_from(
    (
        *("metadata", "name", "labels", "creationTimestamp", "spec", "status", "phase", "reason"),
        *("containers", "initContainers", "containerStatuses", "initContainerStatuses", "state"),
        *("terminated", "waiting", "running", "exitCode", "restartCount", "lastState"),
        *("finishedAt", "conditions", "type", "ports", "port", "addresses", "subsets"),
        *("endpoints", "selector", "matchLabels", "matchExpressions", "clusterIPs", "podIPs"),
        *("series", "involvedObject", "template", "loadBalancer", "ingress", "nodeInfo"),
    )
)
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(("Always", "LoadBalancer", "9999-12-31T23:59:59-23:59", "10.0.0.1", "")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=30,
)


@given(st.dictionaries(WORDS, ODD, max_size=6), st.sampled_from(RESOURCES))
def test_any_object_can_be_shown_and_fills_every_column(of: dict[str, Any], resource: Any) -> None:
    made = table(resource.plural, resource.group, [of], now=NOW)
    assert len(row(made)) == len(made["columnDefinitions"])
    assert all(isinstance(cell, str | int) for cell in row(made))
