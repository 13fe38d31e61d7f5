"""Reading and writing single objects of a live cluster: what is sent, and what answers mean."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from nearwise.client.cluster import LiveCluster
from nearwise.client.credentials import Credentials, Fixed, Identity, Secret, TokenFile
from nearwise.client.errors import ClusterError
from nearwise.client.kubeconfig import Access
from nearwise.loops.cluster import Cluster
from nearwise.model import EndpointSlice, Lease, ObjectMeta, Pod
from nearwise.model.codec import decode, to_dict
from nearwise.model.coordination import LeaseSpec
from nearwise.model.discovery import EndpointPort
from nearwise.model.errors import LostError, StatusError
from nearwise.model.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    Resource,
)
from scripted_server import (
    Answer,
    Asked,
    Reply,
    ScriptedServer,
    a_status,
    breaks_off,
    refuses,
    says,
    serving,
)

VECTORS = Path(__file__).parent.parent / "vectors" / "http.jsonl.gz"
TLS = Path(__file__).parent.parent / "tls"
NOBODY = Fixed(Identity())
T = TypeVar("T")
Use = Callable[[Cluster], Awaitable[T]]

SLICE = EndpointSlice(
    metadata=ObjectMeta("web-1", namespace="shop", uid="u-1", resource_version="7"),
    address_type="IPv4",
    ports=(EndpointPort("http", "TCP", 80),),
)
STORED = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {
        "name": "web-1",
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "8",
        "creationTimestamp": "2026-11-30T05:51:55Z",
        "managedFields": [{"manager": "nearwise"}],
    },
    "addressType": "IPv4",
    "endpoints": None,
    "ports": [{"name": "http", "protocol": "TCP", "port": 80}],
}


def access(server: ScriptedServer, credentials: Credentials = NOBODY) -> Access:
    return Access(server.address, "context test", credentials)


def talk(use: Use[T], *answers: Answer, credentials: Credentials = NOBODY) -> tuple[T, list[Asked]]:
    """Use a cluster that answers so; return what came of it, and what it was asked."""

    async def run() -> tuple[T, list[Asked]]:
        async with serving(*answers) as server:
            async with LiveCluster(access(server, credentials)) as cluster:
                result = await use(cluster)
            return result, server.asked

    return asyncio.run(run())


def failure(use: Use[Any], *answers: Answer, credentials: Credentials = NOBODY) -> Any:
    """Return what a use of a cluster raises."""

    async def caught(cluster: Cluster) -> Exception:
        with pytest.raises((StatusError, LostError)) as info:
            await use(cluster)
        return info.value

    return talk(caught, *answers, credentials=credentials)[0]


WAYS: dict[str, Use[Any]] = {
    "GET": lambda cluster: cluster.get(ENDPOINT_SLICES, "shop", "web-1"),
    "POST": lambda cluster: cluster.create(ENDPOINT_SLICES, SLICE),
    "PUT": lambda cluster: cluster.update(ENDPOINT_SLICES, SLICE),
    "DELETE": lambda cluster: cluster.delete(ENDPOINT_SLICES, SLICE),
}
each_way = pytest.mark.parametrize("method", WAYS)


# --- What is sent ---------------------------------------------------------------------------


def test_an_object_is_created_with_its_kind_and_without_what_is_default() -> None:
    new = replace(SLICE, metadata=ObjectMeta(generate_name="web-", namespace="shop"))
    stored, (asked,) = talk(lambda cluster: cluster.create(ENDPOINT_SLICES, new), says(STORED, 201))
    assert (asked.method, asked.path) == (
        "POST",
        "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
    )
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["user-agent"].startswith("nearwise/")
    assert json.loads(asked.body) == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"generateName": "web-", "namespace": "shop"},
        "addressType": "IPv4",
        "ports": [{"name": "http", "protocol": "TCP", "port": 80}],
    }
    assert isinstance(stored, EndpointSlice)
    assert (stored.metadata.name, stored.metadata.resource_version) == ("web-1", "8")
    assert stored.endpoints == ()


def test_an_object_is_replaced_under_its_name_and_names_the_version_it_replaces() -> None:
    stored, (asked,) = talk(lambda cluster: cluster.update(ENDPOINT_SLICES, SLICE), says(STORED))
    assert (asked.method, asked.path) == (
        "PUT",
        "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1",
    )
    assert json.loads(asked.body)["metadata"]["resourceVersion"] == "7"
    assert stored.metadata.resource_version == "8"


def test_what_is_empty_but_not_absent_is_sent() -> None:
    lease = Lease(
        metadata=ObjectMeta("nearwise", namespace="kube-system"),
        spec=LeaseSpec(holder_identity="", lease_transitions=0),
    )
    _, (asked,) = talk(lambda cluster: cluster.update(LEASES, lease), says({}))
    assert json.loads(asked.body)["spec"] == {"holderIdentity": "", "leaseTransitions": 0}


def test_an_object_is_deleted_only_if_it_is_the_one_that_was_seen() -> None:
    _, (asked,) = talk(
        lambda cluster: cluster.delete(ENDPOINT_SLICES, SLICE), says({"kind": "Status"})
    )
    assert (asked.method, asked.path) == (
        "DELETE",
        "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1",
    )
    assert json.loads(asked.body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u-1"},
    }


def test_one_object_is_read() -> None:
    pod, (asked,) = talk(
        lambda cluster: cluster.get(PODS, "shop", "a"),
        says({"metadata": {"name": "a"}, "spec": {"nodeName": "n1"}}),
    )
    assert isinstance(pod, Pod)
    assert pod.spec.node_name == "n1"
    assert (asked.method, asked.path) == ("GET", "/api/v1/namespaces/shop/pods/a")


def test_names_cannot_climb_out_of_the_path() -> None:
    _, (asked,) = talk(lambda cluster: cluster.get(PODS, "a/b", "../../nodes/n1?x=#"), says({}))
    assert asked.path == "/api/v1/namespaces/a%2Fb/pods/..%2F..%2Fnodes%2Fn1%3Fx=%23"
    assert asked.query == {}


@pytest.mark.parametrize(("namespace", "name"), [("..", "a"), ("shop", ".."), ("shop", ".")])
def test_nothing_is_asked_about_names_that_mean_another_path(namespace: str, name: str) -> None:
    async def refused(cluster: Cluster) -> None:
        with pytest.raises(StatusError) as caught:
            await cluster.get(PODS, namespace, name)
        assert caught.value.status.reason == "NotFound"

    assert talk(refused, says({}))[1] == []


def test_a_page_knows_its_kind_its_version_and_where_the_next_one_begins() -> None:
    answer = says(
        {
            "metadata": {"resourceVersion": "9", "continue": "token+/="},
            "items": [{"metadata": {"name": "a"}}],
        }
    )
    query = {"limit": "1", "continue": "token+/="}
    ((pod,), meta), (asked,) = talk(lambda cluster: cluster.page(PODS, query), answer)
    assert (pod.api_version, pod.kind, pod.metadata.name) == ("v1", "Pod", "a")
    assert (meta.resource_version, meta.continue_) == ("9", "token+/=")
    assert (asked.path, asked.query) == ("/api/v1/pods", query)


def test_an_empty_page_may_have_no_items_at_all() -> None:
    (items, _), _ = talk(lambda cluster: cluster.page(PODS, {}), says({"items": None}))
    assert items == ()


def test_a_page_is_understood_when_compressed() -> None:
    body = json.dumps({"items": [{"metadata": {"name": "a"}}]}).encode()
    ((pod,), _), (asked,) = talk(
        lambda cluster: cluster.page(PODS, {}),
        says(gzip.compress(body), Content_Encoding="gzip"),
    )
    assert pod.metadata.name == "a"
    assert asked.headers["accept-encoding"] == "gzip"


def test_one_connection_serves_one_request_after_another() -> None:
    async def run() -> None:
        async with serving(says(STORED)) as server:
            async with LiveCluster(access(server)) as cluster:
                for use in [*WAYS.values()] * 3:
                    await use(cluster)
            assert len(server.asked) == 12
            assert server.connections == 1

    asyncio.run(run())


# --- What is not written back ---------------------------------------------------------------


@pytest.mark.parametrize("resource", [PODS, NODES, NAMESPACES], ids=lambda each: each.kind)
def test_a_kind_of_which_only_a_part_is_kept_is_not_written_back(resource: Resource[Any]) -> None:
    obj = resource.type(metadata=ObjectMeta("a", namespace="shop"))

    async def refused(cluster: Cluster) -> None:
        with pytest.raises(ValueError, match=f"a {resource.kind} is not written back"):
            await cluster.update(resource, obj)

    assert talk(refused, says({}))[1] == []


def test_an_object_that_was_never_stored_cannot_be_deleted() -> None:
    async def refused(cluster: Cluster) -> None:
        with pytest.raises(ValueError, match="EndpointSlice shop/web-1 has no uid"):
            await cluster.delete(
                ENDPOINT_SLICES, replace(SLICE, metadata=ObjectMeta("web-1", namespace="shop"))
            )

    assert talk(refused, says({}))[1] == []


def recorded() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


def recorded_objects(resource: Resource[Any]) -> Iterator[dict[str, Any]]:
    """Find all objects of a kind in what Kubernetes answered."""
    todo = [exchange["response"] for exchange in recorded()]
    while todo:
        found = todo.pop()
        todo += found.values() if isinstance(found, dict) else found
        todo = [each for each in todo if isinstance(each, (dict, list))]
        if isinstance(found, dict) and (found.get("apiVersion"), found.get("kind")) == (
            resource.api_version,
            resource.kind,
        ):
            yield found


def without_empty(value: Any) -> Any:
    """Leave out what an absent field says as well."""
    if isinstance(value, dict):
        kept = {key: without_empty(each) for key, each in value.items() if key != "managedFields"}
        return {key: each for key, each in kept.items() if each not in (None, "", 0, {}, [])}
    return [without_empty(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "resource", [ENDPOINT_SLICES, ENDPOINTS, EVENTS, LEASES, SERVICES], ids=lambda each: each.kind
)
def test_what_is_written_back_has_lost_nothing(resource: Resource[Any]) -> None:
    objects = [found for found in recorded_objects(resource) if "uid" in found["metadata"]]
    assert objects
    for found in objects:
        kept = to_dict(decode(json.dumps(found).encode(), resource.type))
        assert without_empty(kept) == without_empty(found)


# --- What refusals mean ---------------------------------------------------------------------


def recorded_refusals() -> list[Any]:
    return [
        pytest.param(exchange, id=f"{number} {exchange['note']}")
        for number, exchange in enumerate(recorded())
        if exchange["status"] >= 400 and isinstance(exchange["response"], dict)
    ]


@pytest.mark.parametrize("exchange", recorded_refusals())
def test_a_refusal_of_kubernetes_is_told_whole(exchange: dict[str, Any]) -> None:
    response, headers = exchange["response"], exchange["headers"]
    again = {"Retry_After": headers["retry-after"]} if "retry-after" in headers else {}
    error = failure(WAYS["GET"], says(response, exchange["status"], **again))
    assert isinstance(error, StatusError)
    named = {"apiVersion": "v1", "kind": "Status"}
    assert without_empty(to_dict(error.status)) | named == without_empty(response)
    assert error.retry_after == float(headers.get("retry-after", 0))


@each_way
def test_a_refusal_is_a_status_whatever_was_asked(method: str) -> None:
    error = failure(WAYS[method], refuses(404, "NotFound", "not here"))
    assert (error.status.code, error.status.reason, str(error)) == (404, "NotFound", "not here")


@each_way
def test_a_busy_server_is_not_asked_again_and_says_when_to(method: str) -> None:
    async def refused(cluster: Cluster) -> float:
        with pytest.raises(StatusError) as caught:
            await WAYS[method](cluster)
        return caught.value.retry_after

    seconds, asked = talk(refused, refuses(429, "TooManyRequests", Retry_After="7"))
    assert seconds == 7
    assert len(asked) == 1


def test_two_ways_of_being_too_late_are_told_apart() -> None:
    exists = failure(WAYS["POST"], refuses(409, "AlreadyExists"))
    stale = failure(WAYS["PUT"], refuses(409, "Conflict"))
    assert (exists.status.reason, stale.status.reason) == ("AlreadyExists", "Conflict")


# --- When no answer comes -------------------------------------------------------------------


@each_way
def test_a_request_whose_answer_is_lost_is_not_sent_again(method: str) -> None:
    """Whether it took effect is for the caller to find out, whoever would repeat it for us."""

    async def lost(cluster: Cluster) -> None:
        await cluster.get(ENDPOINT_SLICES, "shop", "web-1")  # so that the connection is a used one
        with pytest.raises(LostError):
            await WAYS[method](cluster)

    _, asked = talk(lost, says(STORED), breaks_off)
    assert [each.method for each in asked] == ["GET", method]


@each_way
def test_an_answer_that_breaks_off_is_lost(method: str) -> None:
    async def half(_asked: Asked, reply: Reply) -> None:
        await reply.send(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"metadata": {')
        reply.break_off()

    assert isinstance(failure(WAYS[method], half), LostError)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_an_answer_that_cannot_be_read_is_lost(method: str) -> None:
    error = failure(WAYS[method], says({"metadata": {"name": 7}}))
    assert isinstance(error, LostError)
    assert " does not answer like a Kubernetes API server: metadata.name: expected" in str(error)


def test_an_answer_that_is_no_http_is_lost() -> None:
    async def rubbish(_asked: Asked, reply: Reply) -> None:
        await reply.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await reply.hung_up()

    assert isinstance(failure(WAYS["GET"], rubbish), LostError)


def test_a_server_that_is_not_there_is_lost() -> None:
    async def run() -> None:
        async with serving(breaks_off) as gone:
            nobody = access(gone)
        async with LiveCluster(nobody) as cluster:
            with pytest.raises(LostError) as caught:
                await cluster.get(PODS, "shop", "a")
        assert str(caught.value) == f"cannot reach {gone.address}: connection refused"

    asyncio.run(run())


def test_a_request_that_is_cancelled_closes_its_connection() -> None:
    async def silent(_asked: Asked, reply: Reply) -> None:
        await reply.hung_up()

    async def run() -> None:
        async with serving(silent) as server, LiveCluster(access(server)) as cluster:
            for use in WAYS.values():
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(use(cluster), 0.02)
            await asyncio.wait_for(server.all_closed(), 5)

    asyncio.run(run())


# --- Who asks -------------------------------------------------------------------------------


class Numbered:
    """Credentials that are others each time they are renewed."""

    can_renew = True

    def __init__(self) -> None:
        self.number = 1
        self._identities = [Identity(Secret(f"Bearer {number}")) for number in range(9)]

    def identity(self) -> Identity:
        return self._identities[self.number]

    def renew(self) -> None:
        self.number += 1


def only(token: str) -> Answer:
    async def answer(asked: Asked, reply: Reply) -> None:
        known = asked.headers["authorization"] == f"Bearer {token}"
        await (says(STORED) if known else refuses(401, "Unauthorized"))(asked, reply)

    return answer


@each_way
def test_a_write_is_sent_again_when_the_server_did_not_know_us(method: str) -> None:
    _, (first, second) = talk(WAYS[method], only("2"), credentials=Numbered())
    assert first.headers["authorization"] == "Bearer 1"
    assert second.headers["authorization"] == "Bearer 2"
    assert (first.method, first.path, first.body) == (second.method, second.path, second.body)


def test_many_writes_at_once_renew_who_we_are_once() -> None:
    credentials = Numbered()

    async def many(cluster: Cluster) -> None:
        await asyncio.gather(*(cluster.create(ENDPOINT_SLICES, SLICE) for _ in range(20)))

    talk(many, only("2"), credentials=credentials)
    assert credentials.number == 2


def test_a_server_that_does_not_know_us_after_renewal_either_refuses() -> None:
    async def refused(cluster: Cluster) -> int:
        with pytest.raises(StatusError) as caught:
            await cluster.create(ENDPOINT_SLICES, SLICE)
        return caught.value.status.code

    code, asked = talk(refused, only("nobody's"), credentials=Numbered())
    assert (code, len(asked)) == (401, 2)


def test_credentials_that_are_no_use_are_told_at_the_start(tmp_path: Path) -> None:
    async def run() -> None:
        missing = TokenFile(tmp_path / "token", Identity())
        with pytest.raises(ClusterError, match="cannot read the token file"):
            async with LiveCluster(Access("https://x.invalid", "context test", missing)):
                raise AssertionError

    asyncio.run(run())


def test_credentials_that_go_away_later_cost_an_answer_and_come_back(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a")

    async def use(cluster: Cluster) -> None:
        file.unlink()
        with pytest.raises(LostError, match="cannot read the token file"):
            await cluster.get(ENDPOINT_SLICES, "shop", "web-1")
        file.write_text("b")
        await cluster.get(ENDPOINT_SLICES, "shop", "web-1")

    _, asked = talk(use, only("b"), credentials=TokenFile(file, Identity()))
    assert len(asked) == 1


def test_a_renewed_certificate_is_shown_on_a_new_connection() -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(TLS / "ca.crt"))
    tls.load_cert_chain(TLS / "server.pem")
    tls.verify_mode = ssl.CERT_OPTIONAL
    certificate, key = ((TLS / f"client.{name}").read_text() for name in ("crt", "key"))

    class Issued:
        can_renew = True
        now = Identity()

        def identity(self) -> Identity:
            return self.now

        def renew(self) -> None:
            self.now = Identity(certificate=certificate, key=Secret(key))

    async def known(asked: Asked, reply: Reply) -> None:
        shown = reply.certificate_shown
        await (says(STORED) if shown else refuses(401, "Unauthorized"))(asked, reply)

    async def run() -> None:
        async with serving(known, tls=tls) as server:
            authority = (TLS / "ca.crt").read_text()
            reached = replace(access(server, Issued()), authority=authority)
            async with LiveCluster(reached) as cluster:
                for _ in range(3):
                    await cluster.update(ENDPOINT_SLICES, SLICE)
            assert (len(server.asked), server.connections) == (4, 2)

    asyncio.run(run())


# --- Proxies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxy", "sentence"),
    [
        ("http://ann:pass@host:99999", "its address, or that of the proxy, is none"),
        ("http://ann:pass@[::1", "its address, or that of the proxy, is none"),
        ("http://ann:pass@a..b", "label empty or too long"),
        ("http://ann:pass@127.0.0.1:1", "the proxy to https://cluster.invalid: connection refused"),
    ],
)
def test_an_address_of_a_proxy_is_never_shown(proxy: str, sentence: str) -> None:
    async def run() -> None:
        reached = Access("https://cluster.invalid", "context c", NOBODY, proxy=Secret(proxy))
        async with LiveCluster(reached) as cluster:
            with pytest.raises(LostError) as caught:
                await cluster.get(PODS, "shop", "a")
        assert sentence in str(caught.value)
        assert "pass" not in str(caught.value)

    asyncio.run(run())


def test_a_proxy_that_refuses_is_told_apart_from_the_server() -> None:
    async def run() -> None:
        async with serving(says(b"", 407)) as server:
            proxy = Secret(server.address.replace("http://", "http://ann:pass@"))
            reached = Access("https://cluster.invalid", "context c", NOBODY, proxy=proxy)
            async with LiveCluster(reached) as cluster:
                with pytest.raises(LostError) as caught:
                    await cluster.get(PODS, "shop", "a")
            assert server.asked[0].method == "CONNECT"
        assert str(caught.value) == (
            "cannot get through the proxy to https://cluster.invalid: "
            "407 Proxy Authentication Required"
        )

    asyncio.run(run())


def test_a_status_of_a_refused_delete_may_be_of_another_object() -> None:
    """The uid does not fit: the object is gone and another one has its name."""
    answer = says(a_status(409, "Conflict", "the UID in the precondition does not match"), 409)
    error = failure(WAYS["DELETE"], answer)
    assert (error.status.code, error.status.reason) == (409, "Conflict")
