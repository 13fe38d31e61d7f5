"""What a path, a method, a query and headers ask for, and what is refused by name."""

from __future__ import annotations

import pytest

from nearwise.server.objects.views import Form, View
from nearwise.server.options import Strictness
from nearwise.server.requests import Request, Verb, address_of, read_request
from nearwise.server.resources import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    Address,
)
from nearwise.server.statuses import Refusal


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/v1/nodes", Address(NODES)),
        ("/api/v1/nodes/n1", Address(NODES, name="n1")),
        ("/api/v1/nodes/n1/status", Address(NODES, name="n1", subresource="status")),
        ("/api/v1/pods", Address(PODS)),
        ("/api/v1/namespaces/shop/pods", Address(PODS, "shop")),
        ("/api/v1/namespaces/shop/pods/web", Address(PODS, "shop", "web")),
        ("/api/v1/namespaces/shop/pods/web/status", Address(PODS, "shop", "web", "status")),
        ("/api/v1/namespaces", Address(NAMESPACES)),
        ("/api/v1/namespaces/shop", Address(NAMESPACES, name="shop")),
        (
            "/api/v1/namespaces/shop/finalize",
            Address(NAMESPACES, name="shop", subresource="finalize"),
        ),
        (
            "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
            Address(ENDPOINT_SLICES, "shop"),
        ),
        (
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            Address(DEPLOYMENTS, "shop", "web", "scale"),
        ),
    ],
)
def test_addresses(path: str, address: Address) -> None:
    assert address_of(path) == address


@pytest.mark.parametrize(
    "path",
    ["/", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/apis/nope/v1/x"],
)
def test_paths_that_are_not_of_objects(path: str) -> None:
    assert address_of(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/widgets",
        "/api/v1/pods/web",  # no namespace
        "/api/v1/namespaces/shop/nodes",  # nodes have none
        "/api/v1/namespaces/shop/pods/web/exec",
        "/api/v1/namespaces/shop/pods/web/status/more",
        "/apis/apps/v1/namespaces/shop/pods",
    ],
)
def test_objects_that_are_not_served(path: str) -> None:
    with pytest.raises(Refusal) as refused:
        address_of(path)

    assert refused.value.status.code == 404


def read(method: str, target: str, **headers: str) -> Request:
    path, _, query = target.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = read_request(method, path, query.encode(), named)
    assert request is not None
    return request


@pytest.mark.parametrize(
    ("method", "target", "verb"),
    [
        ("GET", "/api/v1/namespaces/shop/pods", Verb.LIST),
        ("GET", "/api/v1/namespaces/shop/pods?watch=1", Verb.WATCH),
        ("GET", "/api/v1/namespaces/shop/pods?watch=false", Verb.LIST),
        ("GET", "/api/v1/pods?watch=true", Verb.WATCH),
        ("POST", "/api/v1/namespaces/shop/pods", Verb.CREATE),
        ("DELETE", "/api/v1/namespaces/shop/pods", Verb.DELETE_COLLECTION),
        ("DELETE", "/api/v1/nodes", Verb.DELETE_COLLECTION),
        ("GET", "/api/v1/namespaces/shop/pods/web", Verb.GET),
        ("PUT", "/api/v1/namespaces/shop/pods/web", Verb.UPDATE),
        ("PATCH", "/api/v1/namespaces/shop/pods/web", Verb.PATCH),
        ("DELETE", "/api/v1/namespaces/shop/pods/web", Verb.DELETE),
        ("PUT", "/api/v1/namespaces/shop/pods/web/status", Verb.UPDATE),
        ("POST", "/api/v1/namespaces/shop/pods/web/binding", Verb.CREATE),
    ],
)
def test_verbs(method: str, target: str, verb: Verb) -> None:
    assert read(method, target).verb is verb


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/pods"),
        ("DELETE", "/api/v1/pods"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/api/v1/namespaces/shop/pods/web"),
        ("PUT", "/api/v1/namespaces/shop/pods"),
        ("PATCH", "/api/v1/nodes"),
        ("DELETE", "/api/v1/namespaces/shop/pods/web/status"),
        ("GET", "/api/v1/namespaces/shop/finalize"),
        ("GET", "/api/v1/namespaces/shop/pods/web/binding"),
        ("HEAD", "/api/v1/nodes"),
    ],
)
def test_methods_that_are_not_allowed(method: str, path: str) -> None:
    with pytest.raises(Refusal) as refused:
        read(method, path)

    assert refused.value.status.code == 405
    assert refused.value.status.reason == "MethodNotAllowed"


@pytest.mark.parametrize(
    ("accept", "accepted", "form"),
    [
        ("", "application/json", Form.OBJECT),
        ("*/*", "application/json", Form.OBJECT),
        ("application/json, */*", "application/json", Form.OBJECT),
        ("application/yaml", "application/yaml", Form.OBJECT),
        (
            "application/vnd.kubernetes.protobuf,application/json",
            "application/json",
            Form.OBJECT,
        ),
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            "application/json",
            Form.TABLE,
        ),
        (
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            "application/json",
            Form.OBJECT,
        ),
        (
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "application/json",
            Form.METADATA,
        ),
        ("text/html;q=0.9,application/json;q=0.8", "application/json", Form.OBJECT),
    ],
)
def test_forms_that_are_asked_for(accept: str, accepted: str, form: Form) -> None:
    request = read("GET", "/api/v1/nodes", accept=accept)

    assert (request.accepted, request.view.form) == (accepted, form)


@pytest.mark.parametrize(
    "accept",
    [
        "application/vnd.kubernetes.protobuf",
        "application/cbor",
        "text/html",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
    ],
)
def test_formats_that_are_not_written_are_refused_by_name(accept: str) -> None:
    with pytest.raises(Refusal) as refused:
        read("GET", "/api/v1/nodes", accept=accept)

    status = refused.value.status
    assert (status.code, status.reason) == (406, "NotAcceptable")
    assert "application/json" in status.message


def test_parameters_of_a_list() -> None:
    request = read(
        "GET",
        "/api/v1/namespaces/shop/services?labelSelector=app%3Dweb&limit=5&resourceVersion=7"
        "&resourceVersionMatch=Exact&timeoutSeconds=3&allowWatchBookmarks=true"
        "&sendInitialEvents=false&continue=x",
    )

    options = request.list_options()

    assert options.selection.labels.matches({"app": "web"})
    assert (options.limit, options.resource_version, options.match) == (5, "7", "Exact")
    assert (options.timeout, options.allow_bookmarks, options.send_initial_events) == (
        3,
        True,
        False,
    )
    assert options.continue_ == "x"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=many", 'strconv.ParseInt: parsing "many": invalid syntax'),
        ("limit=1" + "0" * 30, f'strconv.ParseInt: parsing "1{"0" * 30}": value out of range'),
        ("timeoutSeconds=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("labelSelector=a%3Db%3Dc", "found '=', expected: ',' or 'end of string'"),
        ("fieldSelector=x", "invalid selector: 'x'; can't understand 'x'"),
        ("fieldSelector=spec.foo%3D1", "field label not supported: spec.foo"),
    ],
)
def test_parameters_that_cannot_be_read(query: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        read("GET", f"/api/v1/pods?{query}").list_options()

    assert refused.value.status.code == 400
    assert refused.value.status.message == message


def test_the_writer_is_the_field_manager_or_the_program() -> None:
    path = "/api/v1/namespaces/shop/pods"
    named = read("POST", f"{path}?fieldManager=me", user_agent="kubectl/v1.36")
    program = read("POST", path, user_agent="kubectl/v1.36 (linux)")

    assert named.write_options().manager == "me"
    assert program.write_options().manager == "kubectl"


def test_parameters_of_a_write() -> None:
    request = read(
        "POST", "/api/v1/namespaces/shop/pods?dryRun=All&fieldValidation=Strict&fieldManager=me"
    )

    options = request.write_options()

    assert (options.dry_run, options.strictness) == (True, Strictness.STRICT)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("dryRun=Some", 'dryRun: Unsupported value: "Some": supported values: "All"'),
        ("fieldValidation=Maybe", "fieldValidation: Unsupported value"),
        ("fieldManager=" + "x" * 129, "fieldManager: Too long: may not be more than 128 bytes"),
        ("fieldManager=a%00b", "fieldManager: Invalid value"),
    ],
)
def test_parameters_of_a_write_that_are_not_supported(query: str, text: str) -> None:
    with pytest.raises(Refusal) as refused:
        read("POST", f"/api/v1/namespaces/shop/pods?{query}").write_options()

    status = refused.value.status
    assert status.code == 422
    assert status.message.startswith(f'CreateOptions.meta.k8s.io "" is invalid: {text}')


def test_only_an_apply_is_forced() -> None:
    request = read(
        "PATCH",
        "/api/v1/namespaces/shop/pods/web?force=true",
        content_type="application/merge-patch+json",
    )

    with pytest.raises(Refusal) as refused:
        request.patch(b"{}")

    assert "force: Forbidden: may not be specified for non-apply patch" in str(refused.value)


def test_a_deletion_is_described_by_its_body_or_by_the_query() -> None:
    path = "/api/v1/namespaces/shop/services/web"
    request = read("DELETE", f"{path}?gracePeriodSeconds=3&propagationPolicy=Orphan&dryRun=All")

    by_query = request.delete_options(b"")
    by_body = request.delete_options(b'{"gracePeriodSeconds": 5, "preconditions": {"uid": "u"}}')

    assert (by_query.grace_period_seconds, by_query.propagation_policy) == (3, "Orphan")
    assert by_query.is_dry_run
    assert by_body.grace_period_seconds == 5
    assert by_body.preconditions is not None
    assert by_body.preconditions.uid == "u"
    assert by_body.propagation_policy is None


def test_a_deletion_whose_body_is_wrong() -> None:
    request = read("DELETE", "/api/v1/namespaces/shop/services/web")

    with pytest.raises(Refusal) as refused:
        request.delete_options(b'{"gracePeriodSeconds": "soon"}')

    assert refused.value.status.code == 400
    assert "gracePeriodSeconds" in str(refused.value)


def test_selections_are_equal_when_they_pick_the_same() -> None:
    """Watches of equal selections are served together."""
    target = "/api/v1/namespaces/shop/services?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx"

    one, other = read("GET", target), read("GET", target)

    assert one.list_options() == other.list_options()
    assert hash(one.list_options()) == hash(other.list_options())
    assert one.view == View(SERVICES)
