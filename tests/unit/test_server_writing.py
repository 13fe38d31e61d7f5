"""Creating, replacing and patching objects, as a client of the server sees it."""

from __future__ import annotations

from typing import Any

import pytest

from served import (
    APPLY,
    DEFAULT,
    DEPLOYMENTS,
    MERGE,
    SLICES,
    STRATEGIC,
    Server,
    deployment,
    endpoint_slice,
    play,
    pod,
    service,
)

SERVICES = f"{DEFAULT}/services"
PODS = f"{DEFAULT}/pods"
NODES = "/api/v1/nodes"


# --- Creating -----------------------------------------------------------------------------


def test_a_new_object_has_what_only_the_server_gives() -> None:
    async def scenario(server: Server) -> None:
        given = service()
        given["metadata"] |= {
            "uid": "mine",
            "creationTimestamp": "2020-01-01T00:00:00Z",
            "deletionTimestamp": "2020-01-01T00:00:00Z",
        }

        created = await server.create(SERVICES, given)

        metadata = created["metadata"]
        assert metadata["uid"].startswith("00000000-")
        assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert metadata["resourceVersion"] == str(server.revision)
        assert metadata["namespace"] == "default"
        assert "deletionTimestamp" not in metadata
        assert await server.get(f"{SERVICES}/web") == created

    play(scenario)


def test_a_new_object_must_not_have_a_version() -> None:
    async def scenario(server: Server) -> None:
        given = service()
        given["metadata"]["resourceVersion"] = "5"

        status = await server.create(SERVICES, given, 500)

        assert status["message"] == "resourceVersion should not be set on objects to be created"
        assert "reason" not in status

    play(scenario)


def test_generated_names_are_tried_until_one_is_free() -> None:
    async def scenario(server: Server) -> None:
        for number in range(3):
            await server.create(SLICES, endpoint_slice(f"web-{number:05}"))
        given = endpoint_slice()
        given["metadata"] = {"generateName": "web-"}

        created = await server.create(SLICES, given)

        assert created["metadata"]["name"] == "web-00003"
        assert created["metadata"]["generateName"] == "web-"

    play(scenario)


def test_generated_names_give_up_at_last() -> None:
    async def scenario(server: Server) -> None:
        for number in range(8):
            await server.create(SLICES, endpoint_slice(f"web-{number:05}"))
        given = endpoint_slice()
        given["metadata"] = {"generateName": "web-"}

        status = await server.create(SLICES, given, 409)

        assert status["reason"] == "AlreadyExists"
        assert "not able to generate a unique name" in status["message"]
        assert status["details"]["retryAfterSeconds"] == 1

    play(scenario)


def test_a_generated_name_leaves_room_for_its_end() -> None:
    async def scenario(server: Server) -> None:
        given = endpoint_slice()
        given["metadata"] = {"generateName": "x" * 80}

        created = await server.create(SLICES, given)

        assert created["metadata"]["name"] == "x" * 58 + "00000"

    play(scenario)


def test_a_name_of_an_object_that_is_being_deleted_is_not_free_yet() -> None:
    async def scenario(server: Server) -> None:
        kept = endpoint_slice(finalizers=["example.com/x"])
        await server.create(SLICES, kept)
        await server.delete(f"{SLICES}/web-1")

        status = await server.create(SLICES, kept, 409)

        assert status["message"].startswith("object is being deleted: endpointslices")

    play(scenario)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"metadata": {}}, "metadata.name: Required value: name or generateName is required"),
        ({"metadata": {"name": "No"}}, "a lowercase RFC 1123 subdomain must consist of"),
        ({"metadata": {"name": "a", "labels": {"-": "x"}}}, "metadata.labels: Invalid value"),
        (
            {"metadata": {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}},
            "cannot contain both orphan and foregroundDeletion",
        ),
    ],
)
def test_metadata_is_checked_whatever_the_kind(body: dict[str, Any], message: str) -> None:
    async def scenario(server: Server) -> None:
        status = await server.create(NODES, body, 422)

        assert status["reason"] == "Invalid"
        assert message in status["message"]
        assert status["details"]["kind"] == "Node"

    play(scenario)


def test_the_namespace_of_the_body_must_be_that_of_the_url() -> None:
    async def scenario(server: Server) -> None:
        given = service()
        given["metadata"]["namespace"] = "shop"

        status = await server.create(SERVICES, given, 400)

        assert "does not match the namespace sent on the request" in status["message"]

    play(scenario)


def test_an_object_without_a_namespace_loses_one_that_is_given() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(NODES, {"metadata": {"name": "n1", "namespace": "x"}})

        assert "namespace" not in created["metadata"]

    play(scenario)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (SERVICES, {"kind": "Pod", "apiVersion": "v1"}, "Pod in version"),
        (SERVICES, {"apiVersion": "v2"}, "the API version in the data (v2) does not match"),
        (SERVICES, {"spec": {"ports": "many"}}, "cannot unmarshal string into Go struct field"),
        (
            PODS,
            {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "command": "x"}]}},
            "json: cannot unmarshal string into Go struct field Container.spec.containers.command "
            "of type []string",
        ),
        (PODS, {"metadata": {"labels": ["a"]}}, "metadata.labels of type map[string]string"),
        (PODS, {"spec": {"priority": "high"}}, "PodSpec.spec.priority of type int32"),
        (
            "/api/v1/namespaces",
            {"metadata": {"name": "a"}, "spec": {"finalizers": 5}},
            "NamespaceSpec.spec.finalizers of type []",
        ),
        (NODES, {"status": {"capacity": {"cpu": "lots"}}}, "quantities must match"),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            {"metadata": {"name": "a"}, "spec": {"renewTime": "noon"}},
            'parsing time "noon"',
        ),
        (DEPLOYMENTS, {"spec": {"replicas": 1.5}}, "cannot unmarshal number 1.5 into"),
        (DEPLOYMENTS, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}}}, "bool"),
    ],
)
def test_bodies_that_are_not_of_the_kind(path: str, body: object, message: str) -> None:
    async def scenario(server: Server) -> None:
        status = await server.create(path, body, 400)

        assert status["reason"] == "BadRequest"
        assert message in status["message"]

    play(scenario)


# --- Field validation, dry run ------------------------------------------------------------


def test_unknown_and_repeated_fields_are_told_and_not_stored() -> None:
    async def scenario(server: Server) -> None:
        body = (
            '{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "x", '
            '"imag": "y"}], "nodeName": "n1", "nodeName": "n2", "foo": {"bar": 1}}}'
        )

        reply = await server.ask("POST", PODS, body)

        assert reply.status == 201
        assert reply.headers["warning"].count("299 - ") == 1  # the last of several in our harness
        stored = await server.get(f"{PODS}/a")
        assert "foo" not in stored["spec"]
        assert "imag" not in stored["spec"]["containers"][0]
        assert stored["spec"]["nodeName"] == "n2"

        status = await server.create(f"{PODS}?fieldValidation=Strict", body.encode(), 400)
        assert status["message"].endswith(
            'strict decoding error: duplicate field "spec.nodeName", '
            'unknown field "spec.containers[0].imag", unknown field "spec.foo"'
        )

    play(scenario)


def test_unknown_fields_can_be_ignored() -> None:
    async def scenario(server: Server) -> None:
        given = service()
        given["spec"]["foo"] = 1

        reply = await server.ask("POST", f"{SERVICES}?fieldValidation=Ignore", given)

        assert reply.status == 201
        assert "warning" not in reply.headers

    play(scenario)


def test_a_strict_patch_is_refused_for_what_it_makes() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        status = await server.patch(
            f"{SERVICES}/web?fieldValidation=Strict", {"spec": {"foo": 1}}, 422
        )

        assert status["message"].endswith('strict decoding error: unknown field "spec.foo"')
        assert status["details"]["causes"][0]["field"] == "patch"

    play(scenario)


def test_an_apply_may_not_state_a_field_that_the_kind_does_not_have() -> None:
    async def scenario(server: Server) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"foo": 1, "ports": [{"port": 80}]},
        }

        status = await server.patch(f"{SERVICES}/web?fieldManager=me", config, 400, media=APPLY)

        assert ".spec.foo: field not declared in schema" in status["message"]

    play(scenario)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"spec": {"trafficDistribution": "PreferClose"}},
            'spec.trafficDistribution: \\"PreferClose\\" is deprecated; use \\"PreferSameZone\\"',
        ),
        (
            {"metadata": {"annotations": {"service.kubernetes.io/topology-aware-hints": "auto"}}},
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
            "service.kubernetes.io/topology-mode instead",
        ),
        (
            {"spec": {"externalIPs": ["192.0.2.1"]}},
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        ),
    ],
)
def test_authors_of_services_are_warned(change: dict[str, Any], words: str) -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        reply = await server.ask("PATCH", f"{SERVICES}/web", change, media=MERGE)

        assert reply.status == 200
        assert reply.headers["warning"] == f'299 - "{words}"'

    play(scenario)


def test_a_dry_run_answers_as_if_and_leaves_nothing() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())
        before = server.revision

        created = await server.create(f"{SERVICES}?dryRun=All", service("dry"))
        again = await server.create(f"{SERVICES}?dryRun=All", service(), 409)
        patched = await server.patch(
            f"{SERVICES}/web?dryRun=All", {"metadata": {"labels": {"a": "b"}}}
        )
        deleted = await server.delete(f"{SERVICES}/web?dryRun=All")

        assert "resourceVersion" not in created["metadata"]
        assert again["reason"] == "AlreadyExists"
        assert patched["metadata"]["labels"] == {"a": "b"}
        assert deleted["metadata"]["name"] == "web"
        assert server.revision == before
        stored = await server.get(f"{SERVICES}/web")
        assert "labels" not in stored["metadata"]
        await server.create(SERVICES, service("dry", clusterIP=created["spec"]["clusterIP"]))

    play(scenario)


# --- Replacing ----------------------------------------------------------------------------


def test_a_replacement_that_changes_nothing_is_no_write() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(SLICES, endpoint_slice())
        server.pass_seconds(60)

        with_version = await server.put(f"{SLICES}/web-1", created)
        without = {**created, "metadata": {**created["metadata"]}}
        del without["metadata"]["resourceVersion"]
        again = await server.put(f"{SLICES}/web-1", without)
        from_scratch = await server.put(f"{SLICES}/web-1", endpoint_slice())

        assert with_version == again == from_scratch == created

    play(scenario)


def test_a_replacement_may_name_the_version_and_the_uid_it_is_for() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(SERVICES, service())
        await server.patch(f"{SERVICES}/web", {"metadata": {"labels": {"a": "1"}}})

        stale = await server.put(f"{SERVICES}/web", created, 409)
        other = service()
        other["metadata"]["uid"] = "of-its-predecessor"
        wrong = await server.put(f"{SERVICES}/web", other, 409)

        assert "the object has been modified" in stale["message"]
        assert "Precondition failed: UID in precondition: of-its-predecessor" in wrong["message"]

    play(scenario)


def test_a_patch_may_name_the_version_it_is_for() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        status = await server.patch(
            f"{SERVICES}/web", {"metadata": {"resourceVersion": "1", "labels": {"a": "1"}}}, 409
        )

        assert status["reason"] == "Conflict"

    play(scenario)


def test_a_lease_is_only_replaced_by_who_says_which_version() -> None:
    async def scenario(server: Server) -> None:
        leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}

        created = await server.put(f"{leases}/l", lease, 201)
        refused = await server.put(f"{leases}/l", lease, 422)
        created["spec"]["holderIdentity"] = "b"
        replaced = await server.put(f"{leases}/l", created)

        assert refused["message"] == (
            'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: '
            "Invalid value: 0: must be specified for an update"
        )
        assert replaced["spec"]["holderIdentity"] == "b"

    play(scenario)


def test_some_kinds_are_created_by_a_put_and_others_are_not() -> None:
    async def scenario(server: Server) -> None:
        created = await server.put(f"{SERVICES}/web", service(), 201)
        missing = await server.put(f"{SLICES}/web-1", endpoint_slice(), 404)

        assert created["spec"]["clusterIP"]
        assert missing["details"]["kind"] == "endpointslices"

    play(scenario)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "the name of the object (web based on URL) was undeterminable"),
        ({"metadata": {"name": "api"}}, "the name of the object (api) does not match"),
        (
            {"metadata": {"name": "web", "namespace": "shop"}},
            "the namespace of the object (shop) does not match the namespace on the URL (default)",
        ),
    ],
)
def test_a_replacement_is_for_the_object_at_its_address(body: dict[str, Any], message: str) -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        status = await server.put(f"{SERVICES}/web", body, 400)

        assert message in status["message"]

    play(scenario)


def test_generations_count_changes_of_what_is_wanted() -> None:
    async def scenario(server: Server) -> None:
        async def generation(target: str, patch: object) -> int:
            found: int = (await server.patch(target, patch))["metadata"]["generation"]
            return found

        await server.create(PODS, pod())
        await server.create(DEPLOYMENTS, deployment())
        await server.create(SLICES, endpoint_slice())
        labels = {"metadata": {"labels": {"x": "1"}}}
        annotations = {"metadata": {"annotations": {"x": "1"}}}

        assert await generation(f"{PODS}/web-a", labels) == 1
        assert await generation(f"{PODS}/web-a/status", {"status": {"phase": "Running"}}) == 1
        assert await generation(f"{PODS}/web-a", {"spec": {"activeDeadlineSeconds": 9}}) == 2
        assert await generation(f"{DEPLOYMENTS}/web", labels) == 1
        assert await generation(f"{DEPLOYMENTS}/web", annotations) == 2
        assert await generation(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}}) == 3
        assert await generation(f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 3}}) == 3
        assert await generation(f"{SLICES}/web-1", annotations) == 1
        assert await generation(f"{SLICES}/web-1", labels) == 2
        assert "generation" not in (await server.create(SERVICES, service()))["metadata"]

    play(scenario)


def test_status_and_spec_are_written_apart() -> None:
    async def scenario(server: Server) -> None:
        await server.create(DEPLOYMENTS, deployment(replicas=2))

        both = {"spec": {"replicas": 9}, "status": {"replicas": 7}}
        by_status = await server.patch(f"{DEPLOYMENTS}/web/status", both)
        by_spec = await server.patch(f"{DEPLOYMENTS}/web", {**both, "status": {"replicas": 1}})

        assert (by_status["spec"]["replicas"], by_status["status"]["replicas"]) == (2, 7)
        assert (by_spec["spec"]["replicas"], by_spec["status"]["replicas"]) == (9, 7)
        assert await server.get(f"{DEPLOYMENTS}/web/status") == by_spec

    play(scenario)


def test_a_new_object_brings_no_status_but_a_node_does() -> None:
    async def scenario(server: Server) -> None:
        given = pod()
        given["status"] = {"phase": "Running", "podIP": "10.1.1.1"}
        created = await server.create(PODS, given)
        node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}}
        created_node = await server.create(NODES, node)

        assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
        assert created_node["status"]["allocatable"] == {"cpu": "4"}

    play(scenario)


def test_the_status_of_a_service_is_written_at_its_address() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service(type="LoadBalancer"))
        ingress = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}

        kept = await server.patch(f"{SERVICES}/web", ingress)
        written = await server.patch(f"{SERVICES}/web/status", ingress)

        assert kept["status"] == {"loadBalancer": {}}
        assert written["status"] == ingress["status"]

    play(scenario)


def test_fields_that_never_change_are_refused() -> None:
    async def scenario(server: Server) -> None:
        await server.create(PODS, pod(node="n1"))
        await server.create(DEPLOYMENTS, deployment())

        moved = await server.patch(f"{PODS}/web-a", {"spec": {"nodeName": "n2"}}, 422)
        image = [{"name": "web", "image": "web:2"}]
        updated = await server.patch(
            f"{PODS}/web-a", {"spec": {"containers": image}}, media=STRATEGIC
        )
        selector = {"spec": {"selector": {"matchLabels": {"app": "other"}}}}
        reselected = await server.patch(f"{DEPLOYMENTS}/web", selector, 422)
        born = {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}
        younger = await server.patch(f"{PODS}/web-a", born, 422)

        assert "pod updates may not change fields other than" in moved["message"]
        assert updated["spec"]["containers"][0]["image"] == "web:2"
        assert "field is immutable" in reselected["message"]
        assert "metadata.creationTimestamp: Invalid value" in younger["message"]

    play(scenario)


# --- Patching -----------------------------------------------------------------------------


def test_a_patch_of_what_is_not_there() -> None:
    async def scenario(server: Server) -> None:
        status = await server.patch(f"{SERVICES}/web", {}, 404)

        assert status["message"] == 'services "web" not found'

    play(scenario)


@pytest.mark.parametrize(
    ("patch", "media", "message"),
    [
        ('{"a":', MERGE, "error decoding patch: unexpected end of JSON input"),
        ("{a: [}", APPLY, "error decoding YAML"),
        ("[]", MERGE, "error decoding patch"),
        ({"metadata": {"name": "other"}}, MERGE, "does not match the name on the URL (web)"),
    ],
)
def test_patches_that_are_none(patch: object, media: str, message: str) -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        status = await server.patch(f"{SERVICES}/web?fieldManager=me", patch, 400, media=media)

        assert message in status["message"]

    play(scenario)


def test_a_patch_that_makes_something_else_of_the_object() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        status = await server.patch(f"{SERVICES}/web", {"spec": {"ports": "none"}}, 422)

        assert status["message"].startswith(' "" is invalid: patch: Invalid value: ')
        assert "cannot unmarshal string into Go struct field" in status["message"]

    play(scenario)


def test_applies_of_two_managers_conflict_until_one_takes_over() -> None:
    async def scenario(server: Server) -> None:
        def config(labels: dict[str, str]) -> dict[str, Any]:
            metadata = {"name": "web", "labels": labels}
            spec = {"ports": [{"port": 80}]}
            return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}

        path = f"{SERVICES}/web"
        await server.patch(f"{path}?fieldManager=a", config({"x": "1"}), 201, APPLY)
        conflict = await server.patch(f"{path}?fieldManager=b", config({"x": "2"}), 409, APPLY)
        taken = await server.patch(
            f"{path}?fieldManager=b&force=true", config({"x": "2"}), 200, APPLY
        )
        given_up = await server.patch(f"{path}?fieldManager=b", config({}), 200, APPLY)

        assert conflict["details"]["causes"][0]["reason"] == "FieldManagerConflict"
        assert conflict["details"]["causes"][0]["field"] == ".metadata.labels.x"
        assert taken["metadata"]["labels"] == {"x": "2"}
        assert "labels" not in given_up["metadata"]
        assert [entry["manager"] for entry in given_up["metadata"]["managedFields"]] == ["a", "b"]

    play(scenario)


def test_an_apply_again_writes_nothing() -> None:
    async def scenario(server: Server) -> None:
        config = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            **deployment(replicas=2),
        }
        path = f"{DEPLOYMENTS}/web?fieldManager=me"
        created = await server.patch(path, config, 201, APPLY)
        server.pass_seconds(60)

        assert await server.patch(path, config, 200, APPLY) == created

    play(scenario)


# --- Scale and binding --------------------------------------------------------------------


def test_a_workload_is_scaled_at_an_address_of_its_own() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(DEPLOYMENTS, deployment(replicas=2))
        path = f"{DEPLOYMENTS}/web/scale"

        scale = await server.get(path)
        assert scale == {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": "web",
                "namespace": "default",
                "uid": created["metadata"]["uid"],
                "resourceVersion": created["metadata"]["resourceVersion"],
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"replicas": 2},
            "status": {"replicas": 0, "selector": "app=web"},
        }

        patched = await server.patch(path, {"spec": {"replicas": 5}})
        assert patched["spec"] == {"replicas": 5}
        stale = await server.put(path, scale, 409)
        assert stale["reason"] == "Conflict"
        put = await server.put(path, {**patched, "spec": {"replicas": 7}})
        assert put["spec"] == {"replicas": 7}
        negative = await server.patch(path, {"spec": {"replicas": -1}}, 422)
        assert negative["message"].startswith('Scale.autoscaling "web" is invalid: spec.replicas')
        wrong = await server.put(path, {"spec": {"replicas": "many"}}, 400)
        assert "ScaleSpec.spec.replicas of type int32" in wrong["message"]
        stored = await server.get(f"{DEPLOYMENTS}/web")
        assert stored["spec"]["replicas"] == 7
        assert stored["metadata"]["generation"] == 3
        owners = stored["metadata"]["managedFields"]
        assert {"f:spec": {"f:replicas": {}}} in [owner["fieldsV1"] for owner in owners]

    play(scenario)


def test_a_pod_is_bound_to_a_node_once() -> None:
    async def scenario(server: Server) -> None:
        labels = {"topology.kubernetes.io/zone": "a"}
        await server.create(NODES, {"metadata": {"name": "n1", "labels": labels}})
        await server.create(PODS, pod())
        binding = {"target": {"kind": "Node", "name": "n1"}}
        path = f"{PODS}/web-a/binding"

        done = await server.create(path, binding)
        again = await server.create(path, binding, 409)
        nowhere = await server.create(path, {"target": {}}, 422)

        assert done["status"] == "Success"
        bound = await server.get(f"{PODS}/web-a")
        assert bound["spec"]["nodeName"] == "n1"
        assert bound["metadata"]["labels"] == {"app": "web", **labels}
        assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
        assert 'pod web-a is already assigned to node "n1"' in again["message"]
        assert "target.name: Required value" in nowhere["message"]

    play(scenario)


# --- Events in both versions --------------------------------------------------------------


def test_an_event_is_one_object_in_two_versions() -> None:
    async def scenario(server: Server) -> None:
        new = "/apis/events.k8s.io/v1/namespaces/default/events"
        created = await server.create(
            new,
            {
                "metadata": {"name": "e1"},
                "eventTime": "2026-01-01T00:00:00.000000Z",
                "reportingController": "example.com/c",
                "reportingInstance": "c-0",
                "action": "Look",
                "reason": "Seen",
                "type": "Normal",
                "note": "a service",
                "regarding": {"kind": "Service", "name": "web", "namespace": "default"},
            },
        )

        old = await server.get(f"{DEFAULT}/events/e1")
        assert old["apiVersion"] == "v1"
        assert old["involvedObject"] == created["regarding"]
        assert (old["message"], old["reportingComponent"]) == ("a service", "example.com/c")
        selected = await server.get(f"{new}?fieldSelector=regarding.name%3Dweb")
        assert selected["kind"] == "EventList"
        assert [one["note"] for one in selected["items"]] == ["a service"]
        assert "apiVersion" not in selected["items"][0]
        patched = await server.patch(f"{new}/e1", {"note": "a web service"})
        assert patched["apiVersion"] == "events.k8s.io/v1"
        assert (await server.get(f"{DEFAULT}/events/e1"))["message"] == "a web service"

    play(scenario)


def test_new_events_are_checked_more_strictly_than_old_ones() -> None:
    async def scenario(server: Server) -> None:
        body = {"metadata": {"name": "e1"}}
        status = await server.create("/apis/events.k8s.io/v1/namespaces/default/events", body, 422)
        elsewhere = {**body, "involvedObject": {"namespace": "shop"}}
        other = await server.create(f"{DEFAULT}/events", elsewhere, 422)

        fields = [cause["field"] for cause in status["details"]["causes"]]
        assert fields == [
            "eventTime",
            "reportingController",
            "reportingInstance",
            "action",
            "reason",
            "type",
        ]
        assert "does not match event.namespace" in other["message"]

    play(scenario)


# --- Bounds -------------------------------------------------------------------------------


def test_an_object_that_is_too_large_is_not_stored() -> None:
    async def scenario(server: Server) -> None:
        config_maps = f"{DEFAULT}/configmaps"
        large = {"metadata": {"name": "c"}, "data": {"x": "y" * 1_600_000}}

        created = await server.create(config_maps, large, 413)
        await server.create(config_maps, {"metadata": {"name": "c"}})
        patched = await server.patch(f"{config_maps}/c", {"data": large["data"]}, 413)

        assert created["reason"] == patched["reason"] == "RequestEntityTooLarge"

    play(scenario)
