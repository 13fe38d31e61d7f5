"""Lists for people, patiently asked for, against a small server that can be told to fail."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fake_cluster import Answer, FakeCluster, serving, status
from nearwise import __version__
from nearwise.client.api import Api
from nearwise.client.credentials import Fixed, Identity, Secret, TokenFile, bearer
from nearwise.client.errors import ClusterError, ForbiddenError
from nearwise.client.kubeconfig import Access
from nearwise.client.tls import tls_context
from nearwise.model import Node
from nearwise.model.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES, Resource

TLS = Path(__file__).parent.parent / "tls"
AUTHORITY = (TLS / "ca.crt").read_text()
CLIENT = Identity(
    certificate=(TLS / "client.crt").read_text(), key=Secret((TLS / "client.key").read_text())
)
NOBODY = Fixed(Identity())


def an_object(kind: str, name: str, namespace: str = "", **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **rest}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with serving(FakeCluster()) as cluster:
        yield cluster


def access(cluster: FakeCluster, **settings: Any) -> Access:
    plain = Access(cluster.server, "context test in kubeconfig", NOBODY)
    return replace(plain, **settings)


def listed(
    reached: Access, resource: Resource[Any], namespace: str | None = None
) -> tuple[Any, ...]:
    """List and return the items; waits between attempts are noted in ``WAITED``."""
    WAITED.clear()

    async def sleep(seconds: float) -> None:
        WAITED.append(seconds)

    async def run() -> tuple[Any, ...]:
        async with Api(reached, sleep=sleep) as api:
            return await api.list(resource, namespace)

    return asyncio.run(run())


WAITED: list[float] = []


def refusal(reached: Access) -> str:
    with pytest.raises(ClusterError) as caught:
        listed(reached, NODES)
    return str(caught.value)


# --- Listing --------------------------------------------------------------------------------


def test_objects_come_typed_and_know_their_kind(cluster: FakeCluster) -> None:
    cluster.objects = [an_object("Node", "n1", status={"allocatable": {"cpu": "4"}})]
    (node,) = listed(access(cluster), NODES)
    assert isinstance(node, Node)
    assert (node.api_version, node.kind, node.metadata.name) == ("v1", "Node", "n1")
    assert node.status.allocatable == {"cpu": "4"}


def test_a_placeholder_slice_with_null_endpoints_is_read(cluster: FakeCluster) -> None:
    cluster.objects = [
        an_object("EndpointSlice", "s", "shop", addressType="IPv4", endpoints=None, ports=None)
    ]
    (found,) = listed(access(cluster), ENDPOINT_SLICES)
    assert (found.endpoints, found.ports) == ((), ())
    assert cluster.requests[0].path == "/apis/discovery.k8s.io/v1/endpointslices"


def test_a_namespace_narrows_the_list_but_not_that_of_nodes(cluster: FakeCluster) -> None:
    cluster.objects = [an_object("Service", "web", name) for name in ("shop", "lab")]
    cluster.objects.append(an_object("Node", "n1"))
    assert [each.metadata.namespace for each in listed(access(cluster), SERVICES, "lab")] == ["lab"]
    assert len(listed(access(cluster), SERVICES)) == 2
    assert len(listed(access(cluster), NODES, "lab")) == 1


def test_a_namespace_cannot_climb_out_of_the_path(cluster: FakeCluster) -> None:
    assert listed(access(cluster), SERVICES, "../../secrets?x=") == ()
    assert cluster.requests[0].path == "/api/v1/namespaces/..%2F..%2Fsecrets%3Fx=/services"


def test_long_lists_come_in_pages_of_500(cluster: FakeCluster) -> None:
    cluster.objects = [an_object("Pod", f"p{number}", "shop") for number in range(1200)]
    pods = listed(access(cluster), PODS)
    assert [each.metadata.name for each in pods] == [f"p{number}" for number in range(1200)]
    assert [each.query for each in cluster.requests] == [
        {"limit": "500"},
        {"limit": "500", "continue": "500"},
        {"limit": "500", "continue": "1000"},
    ]


def test_an_expired_page_starts_the_list_again_in_one_piece(cluster: FakeCluster) -> None:
    cluster.objects = [an_object("Pod", f"p{number}", "shop") for number in range(700)]
    real = cluster.answer

    def expire_once(request: Any) -> Answer | None:
        if request.query.get("continue"):
            cluster.requests.append(request)
            return status(410, "Expired", "The provided continue parameter is too old")
        return real(request)

    cluster.answer = expire_once  # type: ignore[method-assign]
    pods = listed(access(cluster), PODS)
    assert len({each.metadata.name for each in pods}) == len(pods) == 700
    assert cluster.requests[-1].query == {}


def test_a_list_that_is_expired_before_it_began_is_told(cluster: FakeCluster) -> None:
    cluster.first = [status(410, "Expired", "too old")]
    assert refusal(access(cluster)).startswith(f"{cluster.server} answers 410 to /api/v1/nodes")
    assert len(cluster.requests) == 1


def test_we_say_who_we_are_and_what_we_want(cluster: FakeCluster) -> None:
    identity = Fixed(Identity(bearer(Secret("t0ken"))))
    headers = (("Impersonate-Group", "dev"), ("Impersonate-Group", "ops"))
    listed(access(cluster, credentials=identity, headers=headers), NODES)
    sent = cluster.requests[0].headers
    assert sent["User-Agent"] == f"nearwise/{__version__}"
    assert sent["Accept"] == "application/json"
    assert sent["Authorization"] == "Bearer t0ken"
    assert sent["Impersonate-Group"] == "ops"  # both were sent; a dict keeps the last


def test_a_server_below_a_path_is_asked_there(cluster: FakeCluster) -> None:
    reached = access(cluster)
    listed(replace(reached, server=reached.server + "/k8s/clusters/c-1"), NODES)
    assert cluster.requests[0].path == "/k8s/clusters/c-1/api/v1/nodes"


# --- Trying again ---------------------------------------------------------------------------


def test_a_busy_server_is_asked_again_after_the_time_it_names(cluster: FakeCluster) -> None:
    cluster.objects = [an_object("Node", "n1")]
    cluster.first = [
        Answer(429, headers={"Retry-After": "3"}),
        Answer(503, headers={"Retry-After": "86400"}),
        Answer(500),
        None,
    ]
    assert len(listed(access(cluster), NODES)) == 1
    assert WAITED == [3, 30, 1, 2]


def test_trying_again_has_an_end(cluster: FakeCluster) -> None:
    cluster.first = [status(503, "ServiceUnavailable", "etcd is away")] * 9
    assert refusal(access(cluster)) == (
        f"{cluster.server} answers 503 to /api/v1/nodes: etcd is away (context test in kubeconfig)"
    )
    assert len(cluster.requests) == 5
    assert WAITED == [0.25, 0.5, 1, 2]


def test_connections_that_keep_breaking_end_too(cluster: FakeCluster) -> None:
    cluster.first = [None] * 20
    assert refusal(access(cluster)) == (
        f"no answer from {cluster.server}: it closed the connection; "
        "is the context right? (context test in kubeconfig)"
    )
    assert len(cluster.requests) == 5
    assert WAITED == [0.25, 0.5, 1, 2]


def test_a_refused_token_is_read_again_once(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    cluster.objects = [an_object("Node", "n1")]
    real = cluster.answer

    def only_new(request: Any) -> Answer | None:
        if request.headers["Authorization"] == "Bearer new":
            return real(request)
        file.write_text("new")
        return status(401, "Unauthorized", "Unauthorized")

    cluster.answer = only_new  # type: ignore[method-assign]
    credentials = TokenFile(file, Identity())
    assert len(listed(access(cluster, credentials=credentials), NODES)) == 1


def test_many_lists_at_once_renew_a_refused_identity_once(cluster: FakeCluster) -> None:
    class Numbered:
        can_renew = True
        runs = 1

        def identity(self) -> Identity:
            return identities[self.runs]

        def renew(self) -> None:
            self.runs += 1

    identities = {run: Identity(bearer(Secret(str(run)))) for run in range(9)}
    real = cluster.answer

    def only_second(request: Any) -> Answer | None:
        if request.headers["Authorization"] == "Bearer 2":
            return real(request)
        return status(401, "Unauthorized", "Unauthorized")

    cluster.answer = only_second  # type: ignore[method-assign]
    credentials = Numbered()

    async def run() -> None:
        async with Api(access(cluster, credentials=credentials)) as api:
            await asyncio.gather(*(api.list(NODES) for _ in range(6)))

    asyncio.run(run())
    assert credentials.runs == 2


# --- What is said when it fails -------------------------------------------------------------


def test_nobody_listening_says_where_and_which_context() -> None:
    with serving(FakeCluster()) as gone:
        reached = access(gone)
    assert refusal(reached) == (
        f"cannot reach {gone.server}: connection refused; "
        "is the context right? (context test in kubeconfig)"
    )
    assert WAITED == []


def test_an_unknown_host_says_so(cluster: FakeCluster) -> None:
    message = refusal(access(cluster, server="https://no-such-host.invalid:6443"))
    assert message.startswith("cannot reach https://no-such-host.invalid:6443: ")
    assert message.endswith("is the context right? (context test in kubeconfig)")


def test_an_unreachable_proxy_is_told_apart_and_its_password_not_shown() -> None:
    with serving(FakeCluster()) as gone:
        proxy = Secret(gone.server.replace("http://", "http://ann:pass@"))
    reached = Access("http://cluster.invalid", "context c", NOBODY, proxy=proxy)
    message = refusal(reached)
    assert message.startswith(
        "cannot reach the proxy to http://cluster.invalid: connection refused"
    )
    assert "pass" not in message


def test_401_says_to_log_in(cluster: FakeCluster) -> None:
    cluster.first = [status(401, "Unauthorized", "Unauthorized")]
    assert refusal(access(cluster)) == (
        f"{cluster.server} does not accept our credentials: Unauthorized; "
        "log in again, or is the context right? (context test in kubeconfig)"
    )


def test_403_says_who_may_not_do_what(cluster: FakeCluster) -> None:
    cluster.forbidden = {"nodes"}
    with pytest.raises(ForbiddenError) as caught:
        listed(access(cluster), NODES)
    assert str(caught.value) == (
        'nodes is forbidden: User "ann" cannot list them (context test in kubeconfig)'
    )


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Answer(200, "<html>Please log in</html>"), "does not answer like a Kubernetes API"),
        (Answer(200, {"items": [{"metadata": "x"}]}), "items[0].metadata: expected a mapping"),
        (Answer(200, '{"items": ['), "does not answer like a Kubernetes API server: "),
        (Answer(404, "404 page not found"), "answers 404 to /api/v1/nodes: Not Found"),
        (Answer(302, "", {"Location": "http://elsewhere/"}), "answers 302 to /api/v1/nodes"),
    ],
)
def test_something_else_than_a_kubernetes_api_is_told(
    cluster: FakeCluster, answer: Answer, sentence: str
) -> None:
    cluster.first = [answer]
    message = refusal(access(cluster))
    assert message.startswith(cluster.server)
    assert sentence in message
    assert len(cluster.requests) == 1


# --- TLS ------------------------------------------------------------------------------------


@pytest.fixture
def secure_cluster() -> Iterator[FakeCluster]:
    """Serve with a certificate for 127.0.0.1 and kubernetes, wanting one from us."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=AUTHORITY)
    context.load_cert_chain(TLS / "server.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(FakeCluster([an_object("Node", "n1")]), context) as cluster:
        yield cluster


def test_client_and_server_show_each_other_their_certificates(secure_cluster: FakeCluster) -> None:
    reached = access(secure_cluster, authority=AUTHORITY, credentials=Fixed(CLIENT))
    assert len(listed(reached, NODES)) == 1


def test_another_server_name_is_checked_when_the_kubeconfig_names_one(
    secure_cluster: FakeCluster,
) -> None:
    reached = access(
        secure_cluster,
        authority=AUTHORITY,
        credentials=Fixed(CLIENT),
        tls_server_name="kubernetes",
    )
    assert len(listed(reached, NODES)) == 1
    assert "certificate that is not trusted: Hostname mismatch" in refusal(
        replace(reached, tls_server_name="other")
    )


def test_an_unknown_authority_is_refused_unless_told_otherwise(secure_cluster: FakeCluster) -> None:
    reached = access(secure_cluster, credentials=Fixed(CLIENT))
    message = refusal(reached)
    assert message.startswith(f"{secure_cluster.server} shows a certificate that is not trusted: ")
    assert len(listed(replace(reached, insecure=True), NODES)) == 1


def test_certificates_without_key_identifiers_are_accepted_on_every_python() -> None:
    context = tls_context(Access("https://x", "", NOBODY, authority=AUTHORITY), Identity())
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("settings", "identity", "sentence"),
    [
        ({"authority": "no certificate"}, Identity(), "the certificate-authority of context c: "),
        (
            {},
            Identity(certificate=AUTHORITY, key=CLIENT.key),
            "the client certificate and key of context c are not usable: ",
        ),
        (
            {},
            Identity(certificate="x", key=Secret("y")),
            "the client certificate and key of context c are not usable: ",
        ),
    ],
)
def test_unusable_certificates_and_keys_are_named(
    settings: dict[str, Any], identity: Identity, sentence: str
) -> None:
    with pytest.raises(ClusterError) as caught:
        tls_context(Access("https://x", "context c", NOBODY, **settings), identity)
    assert str(caught.value).startswith(sentence)


def test_an_encrypted_key_is_refused_and_nothing_is_asked_on_the_terminal() -> None:
    encrypted = Secret((TLS / "encrypted.key").read_text())
    with pytest.raises(ClusterError, match="have no pass phrase"):
        tls_context(
            Access("https://x", "context c", NOBODY),
            Identity(certificate=CLIENT.certificate, key=encrypted),
        )


def test_the_environment_names_a_proxy_unless_the_host_is_exempt(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", cluster.server)
    monkeypatch.setenv("no_proxy", "direct.invalid")
    listed(Access("http://cluster.invalid", "context c", NOBODY), NODES)
    assert cluster.requests[0].headers["Host"] == "cluster.invalid"
    assert refusal(Access("http://direct.invalid", "context c", NOBODY)).startswith(
        "cannot reach http://direct.invalid"
    )
