"""Strategic merge patch: a merge patch that also merges lists, by rules of the kind.

A list of objects is merged by a key of its items, a list of plain values as a set, where the
kind's schema says so; other lists are replaced. Directives say more:

- ``$patch: replace`` or ``delete`` in an object: take the patch's, or nothing, for the whole;
- ``$patch: delete`` in a list item: take out the item of that key; ``replace``: the whole list;
- ``$deleteFromPrimitiveList/NAME``: values to take out of the list NAME;
- ``$setElementOrder/NAME``: in which order the items of the list NAME are to stand;
- ``$retainKeys``: the only fields of the object that stay.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from nearwise.server.patch.errors import bad_request, invalid, unprocessable
from nearwise.server.patch.schema import PLAIN, Shape, kind_of, shape_of
from nearwise.server.patch.values import Json, Object, patch_object, shown

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


def strategic_patch(document: Object, patch: Json) -> Object:
    """Return the object as the patch changes it.

    Raises PatchError: 400 for directives of a wrong form, 422 for a patch that does not fit.
    """
    return _merged_object(document, patch_object(patch), shape_of(*kind_of(document)))


# --- Objects ------------------------------------------------------------------------------


def _merged_object(original: Object, patch: Object, shape: Shape) -> Object:
    directive = _directive(patch)
    if directive is not None:
        return {} if directive == "delete" else _taken_object(patch)
    merged = _retained(original, patch)
    ordered = {
        name.removeprefix(_ORDER): order for name, order in patch.items() if name.startswith(_ORDER)
    }
    for name, order in ordered.items():
        items = _in_order(merged.get(name), patch.get(name), order, shape.field(name))
        if items is not None:
            merged[name] = items
    for name, value in patch.items():
        if name in ordered or name.startswith("$"):
            continue
        if value is None:
            merged.pop(name, None)
        elif name in merged:
            merged[name] = _merged_value(merged[name], value, shape.field(name))
        else:
            merged[name] = _taken(value)
    for name, gone in patch.items():
        if name.startswith(_DELETE):
            _take_out(merged, name.removeprefix(_DELETE), gone)
    return merged


def _merged_value(original: Json, patch: Json, shape: Shape) -> Json:
    if isinstance(original, dict) and isinstance(patch, dict):
        return _merged_object(original, patch, shape)
    if isinstance(original, list) and isinstance(patch, list) and _merges(shape):
        return _merged_list(original, patch, shape)
    return _taken(patch)


def _retained(original: Object, patch: Object) -> Object:
    """Return the fields that stay, as far as ``$retainKeys`` says it."""
    if _RETAIN not in patch:
        return dict(original)
    keys = patch[_RETAIN]
    stated = {name for name, value in patch.items() if value is not None and name[:1] != "$"}
    kept = {key for key in keys if isinstance(key, str)} if isinstance(keys, list) else set()
    if not isinstance(keys, list) or not stated <= kept:
        raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in original.items() if name in kept}


def _take_out(merged: Object, name: str, gone: Json) -> None:
    """Carry out ``$deleteFromPrimitiveList``."""
    if not isinstance(gone, list):
        raise bad_request("invalid patch format of primitive list")
    values = merged.get(name)
    if isinstance(values, list):
        names = set(map(shown, gone))
        merged[name] = [value for value in values if shown(value) not in names]


# --- Lists --------------------------------------------------------------------------------


def _merged_list(original: list[Json], patch: list[Json], shape: Shape) -> list[Json]:
    """Merge by key or value. The patch's order holds; others keep their place where they can."""
    if shape.unique:
        _check_plain(original + patch)
        merged = list({shown(value): value for value in original + patch}.values())
        return _arranged(merged, _keys(patch, shape), _keys(original, shape), shape)
    rest, items = _without_deleted(original, patch, shape)
    merged = list(rest)
    places: dict[str, int] = {}
    for place, key in enumerate(_keys(rest, shape)):
        places.setdefault(key, place)
    for item in items:
        key = _key(item, shape)
        old = merged[places[key]] if key in places else None
        if isinstance(old, dict) and isinstance(item, dict):
            merged[places[key]] = _merged_object(old, item, shape.item or PLAIN)
        else:
            places[key] = len(merged)
            merged.append(_taken(item))
    return _arranged(merged, _keys(items, shape), _keys(rest, shape), shape)


def _without_deleted(
    original: list[Json], patch: list[Json], shape: Shape
) -> tuple[list[Json], list[Json]]:
    """Return what stays of the original, and the patch's items, once directives are followed."""
    items = []
    deleted = set()
    replaced = False
    for item in patch:
        directive = _directive(item)
        if directive is None:
            items.append(item)
        elif directive == "delete":
            deleted.add(_key(item, shape))
        else:
            replaced = True
    if replaced:  # as it is, even with several items of one key: the addresses of a node
        return [_taken(item) for item in items], []
    return [item for item in original if _key(item, shape) not in deleted], items


def _in_order(original: Json, patch: Json, order: Json, shape: Shape) -> list[Json] | None:
    """Carry out ``$setElementOrder``; None when there is no list to order."""
    lists = [value for value in (original, patch) if value is not None]
    if not isinstance(order, list) or not all(isinstance(each, list) for each in lists):
        raise bad_request("invalid patch format of setElementOrder list")
    if not _merges(shape):
        raise bad_request("invalid patch format of setElementOrder list")
    before = original if isinstance(original, list) else []
    if isinstance(patch, list):
        _check_order(patch, order, shape)
        merged = _merged_list(before, patch, shape)
    elif isinstance(original, list):
        merged = original
    else:
        return None
    return _arranged(merged, _keys(order, shape), _keys(before, shape), shape)


def _check_order(patch: list[Json], order: list[Json], shape: Shape) -> None:
    """Raise PatchError unless the patch's items stand in the order that it asks for."""
    stated = [_key(item, shape) for item in patch if _directive(item) is None]
    wanted = iter(_keys(order, shape))
    if order and not all(key in wanted for key in stated):
        lists = f"{shown(patch)}\n doesn't match $setElementOrder list:\n{shown(order)}\n"
        raise invalid(f"The order in patch list:\n{lists}")


def _arranged(items: list[Json], wanted: list[str], before: list[str], shape: Shape) -> list[Json]:
    """Arrange items: those wanted in that order, the others where they stood, as far as that goes.

    An item that is not wanted comes in front of the first wanted one that it stood in front of.
    """
    rank = {key: place for place, key in reversed(list(enumerate(wanted)))}
    stood = {key: place for place, key in reversed(list(enumerate(before)))}
    keyed = [(_key(item, shape), item) for item in items]
    ours = sorted((pair for pair in keyed if pair[0] in rank), key=lambda pair: rank[pair[0]])
    theirs = [pair for pair in keyed if pair[0] not in rank]
    theirs.sort(key=lambda pair: stood.get(pair[0], len(stood)))
    arranged: list[Json] = []
    waiting = deque(theirs)
    for key, item in ours:
        while waiting and stood.get(waiting[0][0], len(stood)) < stood.get(key, -1):
            arranged.append(waiting.popleft()[1])
        arranged.append(item)
    arranged.extend(item for _, item in waiting)
    return arranged


def _merges(shape: Shape) -> bool:
    return shape.unique or bool(shape.merge_key)


def _keys(items: list[Json], shape: Shape) -> list[str]:
    return [_key(item, shape) for item in items]


def _key(item: Json, shape: Shape) -> str:
    """Return what tells an item of a merged list from the others."""
    if shape.unique:
        return shown(item)
    if not isinstance(item, dict) or item.get(shape.merge_key) is None:
        raise invalid(f"map: {shown(item)} does not contain declared merge key: {shape.merge_key}")
    return shown(item[shape.merge_key])


def _check_plain(values: list[Json]) -> None:
    if any(isinstance(value, (dict, list)) for value in values):
        raise unprocessable("a list of plain values has an object or a list in it")


# --- Directives ---------------------------------------------------------------------------


def _directive(patch: Json) -> str | None:
    """Return what ``$patch`` says: ``replace`` or ``delete``, or None when there is none."""
    if not isinstance(patch, dict) or _PATCH not in patch:
        return None
    directive = patch[_PATCH]
    if directive in ("replace", "delete"):
        return str(directive)
    raise invalid(f"unknown patch type: {directive} in map: {shown(patch)}")


def _taken(patch: Json) -> Json:
    """Return what a patch puts where nothing is yet: nulls and directives have no meaning there."""
    if isinstance(patch, dict):
        return {} if _directive(patch) == "delete" else _taken_object(patch)
    if isinstance(patch, list):
        return [_taken(item) for item in patch if _directive(item) is None]
    return patch


def _taken_object(patch: Object) -> Object:
    return {
        name: _taken(value)
        for name, value in patch.items()
        if value is not None and not name.startswith("$")
    }
