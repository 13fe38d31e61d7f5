"""The addresses and families of a Service: what users mean by them, and what is valid.

Law: ``clusterIP``, ``clusterIPs``, ``ipFamilies`` and ``ipFamilyPolicy`` say one thing four times
(KEP-563). Here they are brought into step and checked; nothing here takes an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from nearwise.model.core import Service, ServiceSpec
from nearwise.model.validation.addresses import is_ipv6, legacy_ip
from nearwise.model.validation.fields import Errors, duplicate, invalid, not_supported

_FAMILIES: Final = ("IPv4", "IPv6")
NONE: Final = "None"
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_SINGLE: Final = "SingleStack"

_IPS: Final = "spec.clusterIPs"
_IP_FAMILIES: Final = "spec.ipFamilies"
_POLICY: Final = "spec.ipFamilyPolicy"


def is_headless(spec: ServiceSpec) -> bool:
    """Tell whether the service shall have no address of its own."""
    return spec.cluster_ips == (NONE,)


def _family_of(address: str) -> str:
    """Return the family of an address."""
    return "IPv6" if is_ipv6(address) else "IPv4"


def in_step(new: Service, old: Service | None) -> Service:
    """Make ``clusterIPs`` follow ``clusterIP`` where a client set only the older field."""
    spec = new.spec
    if spec.cluster_ip and not spec.cluster_ips:
        return replace(new, spec=replace(spec, cluster_ips=(spec.cluster_ip,)))
    if old and spec.cluster_ip != old.spec.cluster_ip and spec.cluster_ips == old.spec.cluster_ips:
        ips = (spec.cluster_ip,) if spec.cluster_ip else ()
        return replace(new, spec=replace(spec, cluster_ips=ips))
    return new


def with_families(
    new: Service, old: Service | None, cluster: Sequence[str]
) -> tuple[Service, Errors]:
    """Fill in policy and families from what is given and what the cluster has.

    ``cluster`` are the families of the cluster, its own one first.
    """
    spec = new.spec
    if spec.type == "ExternalName" or (old and _unchanged_preference(spec, old.spec)):
        return new, []
    spec = replace(spec, ip_family_policy=spec.ip_family_policy or _default_policy(spec, old))
    if errors := validate_cluster_ips(spec, old.spec if old else None):
        return new, errors
    spec, errors = _shrunk(spec, old.spec) if old else (spec, [])
    errors += _too_many_for_single_stack(spec)
    spec, inferred = _families_of_ips(spec, cluster)
    if errors := [*errors, *inferred]:
        return new, errors
    # Without a selector somebody else brings the endpoints, of whatever family.
    is_free = spec.cluster_ip == NONE and not spec.selector
    if not is_free and (errors := _not_in_cluster(spec, cluster)):
        return new, errors
    families = spec.ip_families or tuple(cluster[:1])
    if spec.ip_family_policy != _SINGLE and (is_free or len(cluster) == 2):
        families = _both(families)
    return replace(new, spec=replace(spec, ip_families=families)), []


def _default_policy(spec: ServiceSpec, old: Service | None) -> str:
    if old and old.spec.ip_family_policy:
        return old.spec.ip_family_policy
    return "RequireDualStack" if spec.cluster_ip == NONE and not spec.selector else _SINGLE


def _unchanged_preference(spec: ServiceSpec, old: ServiceSpec) -> bool:
    """Tell whether nothing asks for another address: preferring two never changes by itself."""
    return (
        spec.ip_family_policy == "PreferDualStack"
        and old.ip_family_policy in (None, "PreferDualStack")
        and spec.type == old.type
        and spec.cluster_ip == old.cluster_ip
        and spec.cluster_ips == old.cluster_ips
        and spec.ip_families == old.ip_families
    )


def _shrunk(spec: ServiceSpec, old: ServiceSpec) -> tuple[ServiceSpec, Errors]:
    """Give the second address back where single stack is asked for, and only there."""
    if spec.ip_family_policy == _SINGLE:
        if spec.cluster_ip == old.cluster_ip and spec.cluster_ips == old.cluster_ips:
            spec = replace(spec, cluster_ips=spec.cluster_ips[:1])
        if spec.ip_families == old.ip_families:
            spec = replace(spec, ip_families=spec.ip_families[:1])
        return spec, []
    reduced = [
        (spec.cluster_ips, old.cluster_ips, "secondary cluster IP"),
        (spec.ip_families, old.ip_families, "secondary IP family"),
    ]
    return spec, [
        invalid(_POLICY, spec.ip_family_policy, f"must be 'SingleStack' to release the {what}")
        for now, before, what in reduced
        if now and len(now) < len(before) and now == before[: len(now)]
    ]


def _too_many_for_single_stack(spec: ServiceSpec) -> Errors:
    if spec.ip_family_policy != _SINGLE:
        return []
    either = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    given = [(spec.cluster_ips, "cluster IPs"), (spec.ip_families, "IP families")]
    return [
        invalid(_POLICY, _SINGLE, f"{either} {what} are specified")
        for values, what in given
        if len(values) == 2
    ]


def _families_of_ips(spec: ServiceSpec, cluster: Sequence[str]) -> tuple[ServiceSpec, Errors]:
    """Take families that are not given from the addresses that are."""
    families = list(spec.ip_families)
    errors: Errors = []
    for place, address in enumerate(spec.cluster_ips):
        if address == NONE:
            break
        family = _family_of(address)
        if place < len(families):
            continue
        if family in cluster:
            families.append(family)
        else:
            detail = f"{family} is not configured on this cluster"
            errors.append(invalid(f"{_IPS}[{place}]", spec.cluster_ips, detail))
    return replace(spec, ip_families=tuple(families)), errors


def _not_in_cluster(spec: ServiceSpec, cluster: Sequence[str]) -> Errors:
    errors: Errors = []
    if spec.ip_family_policy == "RequireDualStack" and len(cluster) < 2:
        detail = "this cluster is not configured for dual-stack services"
        errors.append(invalid(_POLICY, spec.ip_family_policy, detail))
    for place, family in enumerate(spec.ip_families):
        if family not in cluster:
            detail = "not configured on this cluster"
            errors.append(invalid(f"{_IP_FAMILIES}[{place}]", family, detail))
    return errors


def _both(families: tuple[str, ...]) -> tuple[str, ...]:
    return families + tuple(
        family for family in _FAMILIES if len(families) < 2 and family not in families
    )


def validate_cluster_ips(spec: ServiceSpec, old: ServiceSpec | None) -> Errors:
    """Check the four fields by themselves and against each other."""
    if spec.type == "ExternalName":
        return []
    ips, families = spec.cluster_ips, spec.ip_families
    errors = _same_first(spec)
    for place, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(not_supported(f"{_IP_FAMILIES}[{place}]", family, _FAMILIES))
        if family in families[:place]:
            errors.append(duplicate(f"{_IP_FAMILIES}[{place}]", family))
    if spec.ip_family_policy is not None and spec.ip_family_policy not in _POLICIES:
        errors.append(not_supported(_POLICY, spec.ip_family_policy, _POLICIES))
    wrong = _wrong_ips(ips, old.cluster_ips if old else ())
    errors += wrong
    if len(ips) > 2:
        errors.append(invalid(_IPS, ips, "may only hold up to 2 values"))
    if wrong:
        return errors  # more would only say the same of them
    if len(ips) > 1 and len({is_ipv6(address) for address in ips}) < 2:
        detail = "may specify no more than one IP for each IP family"
        errors.append(invalid(_IPS, ips, detail))
    if not is_headless(spec):
        for place, (address, family) in enumerate(zip(ips, families, strict=False)):
            if family in _FAMILIES and _family_of(address) != family:
                detail = f"expected an {family} value as indicated by `ipFamilies[{place}]`"
                errors.append(invalid(f"{_IPS}[{place}]", address, detail))
    return errors


def _same_first(spec: ServiceSpec) -> Errors:
    if spec.cluster_ip and spec.cluster_ip not in spec.cluster_ips[:1]:
        return [invalid(_IPS, spec.cluster_ips, "first value must match `clusterIP`")]
    if spec.cluster_ips and not spec.cluster_ip:
        detail = "must be empty when `clusterIP` is not specified"
        return [invalid(_IPS, spec.cluster_ips, detail)]
    return []


def _wrong_ips(ips: Sequence[str], known: Sequence[str]) -> Errors:
    errors: Errors = []
    for place, address in enumerate(ips):
        if place == 0 and address == NONE:
            if len(ips) > 1:
                errors.append(invalid(_IPS, ips, "'None' must be the first and only value"))
        elif address not in known:
            errors += legacy_ip(f"{_IPS}[{place}]", address)
    return errors


def validate_cluster_ips_update(spec: ServiceSpec, old: ServiceSpec) -> Errors:
    """Check that addresses and families once given stay."""
    if "ExternalName" in (spec.type, old.type):
        return []
    headless, was_headless = is_headless(spec), is_headless(old)
    errors: Errors = []
    if not (headless and was_headless):
        errors += _kept(spec.cluster_ips, old.cluster_ips, _IPS)
    if not (headless or was_headless):
        errors += _kept(spec.ip_families, old.ip_families, _IP_FAMILIES)
    return errors


def _kept(now: Sequence[str], before: Sequence[str], path: str) -> Errors:
    return [
        invalid(f"{path}[{place}]", now, "may not change once set")
        for place, (after, first) in enumerate(zip(now, before, strict=False))
        if after != first
    ]
