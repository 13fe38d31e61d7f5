"""IP addresses, ranges and host names in fields (KEP-4858: strict since Kubernetes 1.36)."""

from __future__ import annotations

import ipaddress
from typing import Final

from nearwise.model import names
from nearwise.model.validation.fields import Errors, invalid, required

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NO_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_RANGE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def parsed(text: str) -> Address | None:
    """Read an address as leniently as Kubernetes ever did: IPv4 octets may have leading zeros."""
    try:
        return None if "%" in text else ipaddress.ip_address(_without_zeros(text))
    except ValueError:
        return None


def is_ipv6(text: str) -> bool:
    """Tell whether a text is an IPv6 address. An IPv4 address in IPv6 dress is none."""
    address = parsed(text)
    return address is not None and address.version == 6 and not _is_mapped(address)


def legacy_ip(path: str, text: str) -> Errors:
    """Check an address in a field that took sloppy spellings once: any other spelling may be."""
    address = parsed(text)
    if address is None:
        return [invalid(path, text, _NO_ADDRESS)]
    if _without_zeros(text) != text:
        return [invalid(path, text, "must not have leading 0s")]
    if _is_mapped(address):
        return [invalid(path, text, "must not be an IPv4-mapped IPv6 address")]
    return []


def strict_ip(path: str, text: str) -> Errors:
    """Check an address in a field that takes the canonical spelling only."""
    errors = legacy_ip(path, text)
    canonical = str(parsed(text))
    if errors or text == canonical:
        return errors
    return [invalid(path, text, f'must be in canonical form ("{canonical}")')]


def usable_ip(path: str, text: str) -> Errors:
    """Refuse what is an address, but one that no endpoint and no outside traffic can have."""
    address = ipaddress.ip_address(_without_zeros(text))
    multicast = _MULTICAST[address.version]
    refused = [
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (
            address.is_link_local,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
        ),
        (
            address in multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    ]
    return [invalid(path, text, detail) for applies, detail in refused if applies]


# The text says ff02::/10, the API server checks the link-local scope of ff00::/8.
_MULTICAST: Final = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}


def legacy_cidr(path: str, text: str) -> Errors:
    """Check an address range in a field that took sloppy spellings once."""
    ip, slash, length = text.partition("/")
    address = parsed(ip)
    if not slash or address is None or not (length.isascii() and length.isdigit()):
        return [invalid(path, text, _NO_RANGE)]
    bits = int(length) if len(length) <= 9 else address.max_prefixlen + 1
    if bits > address.max_prefixlen:
        return [invalid(path, text, _NO_RANGE)]
    if _without_zeros(ip) != ip or str(bits) != length:
        return [invalid(path, text, "must not have leading 0s in IP or prefix length")]
    if _is_mapped(address):
        return [invalid(path, text, "must not have an IPv4-mapped IPv6 address")]
    if ipaddress.ip_network((address, bits), strict=False).network_address != address:
        return [invalid(path, text, "must not have bits set beyond the prefix length")]
    return []


def host_name(path: str, text: str) -> Errors:
    """Check a fully qualified name; a dot at the end is allowed."""
    if not text:
        return [required(path)]
    name = text.removesuffix(".")
    if complaints := names.dns_subdomain(name):
        return [invalid(path, name, ",".join(complaints))]
    for label in name.split("."):
        if complaints := names.dns_label(label):
            return [invalid(path, label, ",".join(complaints))]
    return []


def _without_zeros(text: str) -> str:
    """Take the leading zeros out of the octets of an IPv4 address."""
    octets = text.split(".")
    if len(octets) != 4 or not all(octet.isascii() and octet.isdigit() for octet in octets):
        return text
    return ".".join(octet.lstrip("0") or "0" for octet in octets)


def _is_mapped(address: Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
