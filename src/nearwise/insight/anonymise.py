"""The same cluster under other names, for people who want to show it to somebody.

Law: a name becomes a prefix that says what it is, and a hash of the text with the salt. So the
same thing has the same new name wherever it stands, and in every snapshot with that salt; what
was equal stays equal, what differed stays different, and what Kubernetes gives a meaning stays as
it is. ``_rules`` names every field that goes into the result: a field that is not there is left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from nearwise.insight.pseudonyms import Pseudonyms

Rule = Callable[[Any], Any] | dict[str, Any] | list[Any]

_EVENT_SOURCES: Final = frozenset(
    ["endpoint-slice-controller", "endpoint-slice-mirroring-controller", "endpoint-controller"]
)


def anonymise(items: Iterable[Mapping[str, Any]], salt: str) -> list[dict[str, Any]]:
    """Return objects, as plain dicts, under other names; kind by kind, sorted by the new names.

    Of events those stay that the controllers of endpoints told: the words of others may say
    anything.
    """
    rules = _rules(Pseudonyms(salt))
    by_kind: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in rules}
    for item in items:
        by_kind[item["kind"]].append(item)
    by_kind["Event"] = [event for event in by_kind["Event"] if _teller(event) in _EVENT_SOURCES]
    # Events are the last kind: what they say is searched for the names of everything else.
    return [
        new
        for kind, found in by_kind.items()
        for new in sorted((_renamed(item, rules[kind]) for item in found), key=_place)
    ]


def _teller(event: Mapping[str, Any]) -> str:
    return str(event.get("source", {}).get("component") or event.get("reportingComponent", ""))


def _place(item: Mapping[str, Any]) -> tuple[str, str]:
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata.get("name", "")


def _renamed(value: Any, rule: Rule) -> Any:
    """Apply a rule to a value: for a mapping, field by field; for a list, item by item."""
    if isinstance(rule, dict):
        return {key: _renamed(each, rule[key]) for key, each in value.items() if key in rule}
    if isinstance(rule, list):
        return [_renamed(each, rule[0]) for each in value]
    return rule(value)


def _same(value: Any) -> Any:
    return value


def _all_same(*fields: str) -> dict[str, Rule]:
    return dict.fromkeys(fields, _same)


def _rules(names: Pseudonyms) -> dict[str, dict[str, Rule]]:
    """Return for each kind its fields and what becomes of them."""
    ports = [
        {
            "name": names.port,
            "targetPort": lambda target: names.port(target) if isinstance(target, str) else target,
            "appProtocol": names.protocol,
            **_all_same("port", "protocol", "nodePort", "containerPort", "hostPort"),
        }
    ]
    conditions = [{"type": names.condition, **_all_same("status", "lastTransitionTime")}]
    containers = [{"name": names.container, "ports": ports, "restartPolicy": _same}]

    def metadata(name: Callable[[str], str], **more: Rule) -> dict[str, Rule]:
        return {
            "name": name,
            "namespace": names.namespace,
            "uid": names.uid,
            "labels": names.labels,
            "annotations": names.annotations,
            "ownerReferences": [names.owner],
            **_all_same("resourceVersion", "generation", "creationTimestamp"),
            **_all_same("deletionTimestamp", "deletionGracePeriodSeconds"),
            **more,
        }

    node: dict[str, Rule] = {
        "metadata": metadata(names.node),
        "spec": {"taints": [names.taint], "unschedulable": _same},
        "status": {
            "conditions": conditions,
            "addresses": [{"type": _same, "address": names.node_address}],
            **_all_same("allocatable", "capacity", "nodeInfo"),
        },
    }
    service: dict[str, Rule] = {
        "metadata": metadata(names.service),
        "spec": {
            "ports": ports,
            "selector": names.labels,
            "clusterIP": names.address,
            "clusterIPs": [names.address],
            "externalIPs": [names.address],
            "externalName": names.domain,
            "loadBalancerIP": names.address,
            "loadBalancerClass": names.value,
            "loadBalancerSourceRanges": [names.range],
            **_all_same("type", "sessionAffinity", "sessionAffinityConfig"),
            **_all_same("internalTrafficPolicy", "externalTrafficPolicy", "trafficDistribution"),
            **_all_same("ipFamilies", "ipFamilyPolicy", "publishNotReadyAddresses"),
            **_all_same("healthCheckNodePort", "allocateLoadBalancerNodePorts"),
        },
        "status": {
            "loadBalancer": {
                "ingress": [
                    {
                        "ip": names.address,
                        "hostname": names.domain,
                        **_all_same("ipMode", "ports"),
                    }
                ]
            },
            "conditions": conditions,
        },
    }
    addresses = [
        {
            "ip": names.address,
            "hostname": names.host,
            "nodeName": names.node,
            "targetRef": names.reference,
        }
    ]
    endpoints: dict[str, Rule] = {
        "metadata": metadata(names.service),
        "subsets": [{"addresses": addresses, "notReadyAddresses": addresses, "ports": ports}],
    }
    endpoint_slice: dict[str, Rule] = {
        "metadata": metadata(names.slice, generateName=names.slice_stem),
        "addressType": _same,
        "endpoints": [
            {
                "addresses": [names.address],
                "conditions": _same,
                "hostname": names.host,
                "targetRef": names.reference,
                "nodeName": names.node,
                "zone": names.zone,
                "hints": {"forZones": [{"name": names.zone}], "forNodes": [{"name": names.node}]},
            }
        ],
        "ports": ports,
    }
    pod: dict[str, Rule] = {
        "metadata": metadata(names.pod),
        "spec": {
            "nodeName": names.node,
            "hostname": names.host,
            "subdomain": names.service,  # it decides whether a service lists the host name
            "hostNetwork": _same,
            "containers": containers,
            "initContainers": containers,
            "tolerations": [names.taint],
            "nodeSelector": names.labels,
        },
        "status": {
            "phase": _same,
            "podIP": names.address,
            "podIPs": [{"ip": names.address}],
            "conditions": conditions,
        },
    }
    event: dict[str, Rule] = {
        "metadata": metadata(names.event),
        "involvedObject": names.reference,
        "message": names.message,
        "source": {"component": _same, "host": names.node},
        **_all_same("reason", "type", "count", "series", "reportingComponent"),
        **_all_same("firstTimestamp", "lastTimestamp", "eventTime"),
    }
    kinds: dict[str, dict[str, Rule]] = {
        "Node": node,
        "Namespace": {"metadata": metadata(names.namespace)},
        "Service": service,
        "Endpoints": endpoints,
        "EndpointSlice": endpoint_slice,
        "Pod": pod,
        "Event": event,
    }
    return {kind: {**_all_same("apiVersion", "kind"), **rule} for kind, rule in kinds.items()}
