"""Lists and single objects: which are meant, from which moment, and where the next page begins.

Law: reading needs nothing but the stored objects, and changes nothing. All pages of a list show
one moment, the one in the continue token, or the client is told that this is over.
"""

from __future__ import annotations

import base64
import binascii
from itertools import islice
from typing import Final

import msgspec

from nearwise.machinery.changes import CompactedError, Entry, FutureRevisionError, Key
from nearwise.machinery.keyspace import Cursor
from nearwise.machinery.reading import Reading
from nearwise.server.objects.views import Listing
from nearwise.server.options import EXACT, ListOptions, list_errors
from nearwise.server.resources import Address
from nearwise.server.statuses import (
    Refusal,
    bad_request,
    continue_too_old,
    invalid_options,
    list_too_old,
    not_found,
    version_too_large,
)


def get(reading: Reading, address: Address, resource_version: str = "") -> Entry:
    """Return one object, not older than a version. Raises Refusal."""
    _check_reached(reading, parse_version(resource_version))
    entry = reading.get(address.key)
    if entry is None:
        raise not_found(address.resource, address.name)
    return entry


def list_objects(reading: Reading, address: Address, options: ListOptions) -> Listing:
    """Return the objects of a resource in one namespace, or in all. Raises Refusal."""
    if errors := list_errors(options):
        raise invalid_options("ListOptions", errors)
    if options.continue_ and options.resource_version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    where = _start(reading, address.namespace, options)
    try:
        return _page(reading, address, options, where)
    except CompactedError:
        if not options.continue_:
            raise list_too_old() from None
        token = _encode_token(_Start(-1, where.after), address.namespace)
        raise continue_too_old(token) from None
    except FutureRevisionError as error:
        raise version_too_large(error.revision, error.current) from None


def parse_version(text: str) -> int:
    """Read the resource version of a request, 0 when it has none. Raises Refusal (400)."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise _bad_version(text, "invalid syntax")
    if int(text) >= 2**64:
        raise _bad_version(text, "value out of range")
    return int(text)


class _Start(msgspec.Struct, frozen=True):
    """From which moment, and behind which object, a list goes on. No moment is now."""

    revision: int | None
    after: Cursor | None = None


def _start(reading: Reading, namespace: str, options: ListOptions) -> _Start:
    if options.continue_:
        return _decode_token(options.continue_, namespace)
    version = parse_version(options.resource_version)
    if version and (options.match == EXACT or (options.limit and not options.match)):
        return _Start(version)
    _check_reached(reading, version)
    return _Start(None)


def _page(reading: Reading, address: Address, options: ListOptions, where: _Start) -> Listing:
    resource, namespace, selection = address.resource, address.namespace, options.selection
    # Without a wish for a moment Kubernetes answers from its cache, and in one piece.
    limit = options.limit if options.resource_version != "0" else 0
    scope = namespace if namespace or not resource.namespaced else None
    if selection.name and scope is not None and where == _Start(None):
        entry = reading.get(Key(resource.storage, scope, selection.name))
        found = (entry,) if entry is not None and selection.picks(entry) else ()
        return Listing(found, reading.revision)
    page = reading.page(
        resource.storage,
        scope,
        after=where.after,
        limit=limit or None if selection.everything else None,
        revision=where.revision,
    )
    if selection.everything:
        if not page.remaining:
            return Listing(page.entries, page.revision)
        return _cut(page.entries, page.revision, namespace, page.remaining)
    picked = filter(selection.picks, page.entries)
    entries = tuple(islice(picked, limit or None))
    if limit and next(picked, None) is not None:
        return _cut(entries, page.revision, namespace, None)
    return Listing(entries, page.revision)


def _cut(
    entries: tuple[Entry, ...], revision: int, namespace: str, remaining: int | None
) -> Listing:
    """Return a page that is not the last one."""
    last = entries[-1].key
    token = _encode_token(_Start(revision, (last.namespace, last.name)), namespace)
    return Listing(entries, revision, token, remaining)


def _check_reached(reading: Reading, version: int) -> None:
    if version > reading.revision:
        raise version_too_large(version, reading.revision)


def _bad_version(text: str, why: str) -> Refusal:
    return bad_request(
        f'invalid resource version: resourceVersion: Invalid value: "{text}": '
        f'strconv.ParseUint: parsing "{text}": {why}'
    )


# --- Continue tokens ----------------------------------------------------------------------

_TOKEN_VERSION: Final = "meta.k8s.io/v1"


class _Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """A continue token: base64 of this as JSON, as Kubernetes has it.

    ``start`` is the place of the last object below the list (``/web`` in a namespace,
    ``/shop/web`` in all of them) and a zero byte. ``rv`` is -1 in one that goes on with what is
    there now.
    """

    v: str = ""
    rv: int = 0
    start: str = ""


def _encode_token(start: _Start, namespace: str) -> str:
    assert start.after is not None
    assert start.revision is not None
    where, name = start.after
    place = f"/{name}" if namespace or not where else f"/{where}/{name}"
    token = _Token(_TOKEN_VERSION, start.revision, f"{place}\0")
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decode_token(text: str, namespace: str) -> _Start:
    """Return where a list goes on. Raises Refusal (400)."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _bad_token("illegal base64 data") from None
    try:
        token = msgspec.json.decode(data, type=_Token)
    except msgspec.MsgspecError as error:
        raise _bad_token(_go_complaint(data, error)) from None
    if token.v != _TOKEN_VERSION:
        raise _bad_token("server does not recognize this encoded version " + token.v)
    where, _, name = token.start.removeprefix("/").removesuffix("\0").rpartition("/")
    if not name or not token.rv:
        raise _bad_token("incorrect encoded start resourceVersion" if name else "no start")
    return _Start(None if token.rv < 0 else token.rv, (namespace or where, name))


def _bad_token(why: str) -> Refusal:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def _go_complaint(data: bytes, error: Exception) -> str:
    """Say why a token is no JSON, as Go does when it breaks on the first character."""
    first = data[:1]
    if not first:
        return "unexpected end of JSON input"
    if first in b'{["tfn-0123456789':
        return str(error)
    shown = chr(first[0]) if 0x20 <= first[0] < 0x7F else f"\\x{first[0]:02x}"
    return f"invalid character '{shown}' looking for beginning of value"
