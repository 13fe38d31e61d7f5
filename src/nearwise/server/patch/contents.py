"""What a value consists of for server-side apply: its parts, its fields, and it without some."""

from __future__ import annotations

from nearwise.server.patch.errors import PatchError, invalid
from nearwise.server.patch.fields import FieldSet, Path, encode_fields, is_member, path_text
from nearwise.server.patch.schema import PLAIN, Shape
from nearwise.server.patch.values import Json, Object, shown


def parts(value: Json, shape: Shape, path: Path) -> dict[str, list[Json]]:
    """Return the parts of a value by the step that leads to each.

    A field has one value; an item of a list that is a map has several where its key is repeated.
    What is owned as a whole has no parts. Raises PatchError (422) when an item cannot be told
    apart from the others; the path says where.
    """
    if isinstance(value, dict):
        return {} if shape.whole else {f"f:{name}": [inner] for name, inner in value.items()}
    if not isinstance(value, list) or not shape.is_map:
        return {}
    found: dict[str, list[Json]] = {}
    for step, item in zip(item_steps(value, shape, path), value, strict=True):
        found.setdefault(step, []).append(item)
    return found


def part_shape(shape: Shape, step: str) -> Shape:
    """Return the rules of what a step leads to."""
    return shape.field(step[2:]) if step.startswith("f:") else shape.item or PLAIN


def item_steps(items: list[Json], shape: Shape, path: Path) -> list[str]:
    """Return the step to each item of a list that is a map. Raises PatchError (422)."""
    return [_item_step(item, shape, path, number) for number, item in enumerate(items)]


def field_set(value: Object, shape: Shape) -> FieldSet:
    """Return all that an object states: its leaves and its list items."""
    found: set[Path] = set()
    _gather(parts(value, shape, ()), shape, (), found)
    return frozenset(found)


def without(value: Object, fields: FieldSet, shape: Shape) -> Object:
    """Return the object without these fields. What is emptied by that stays, empty."""
    return _objects(value, encode_fields(fields), shape, ())


def misshapen(path: Path, why: str) -> PatchError:
    """422: the value at this path is not what the schema has there."""
    return invalid(f"{path_text(path)}: {why}")


def _item_step(item: Json, shape: Shape, path: Path, number: int) -> str:
    if shape.unique:
        if isinstance(item, (dict, list)) or item is None:
            why = "associative list without keys has an element that is not a plain value"
            raise misshapen(path, f"element {number}: {why}")
        return f"v:{shown(item)}"
    if not isinstance(item, dict):
        why = "associative list with keys may not have non-map elements"
        raise misshapen(path, f"element {number}: {why}")
    key: Object = {}
    for name in shape.keys:
        value = item.get(name)
        key[name] = shape.defaults.get(name) if value is None else value
        if key[name] is None:
            why = f'associative list with keys has an element that omits key field "{name}"'
            raise misshapen(path, f"element {number}: {why} (and doesn't have default value)")
    return f"k:{shown(key)}"


def _gather(inside: dict[str, list[Json]], shape: Shape, path: Path, found: set[Path]) -> None:
    for step, values in inside.items():
        inner_path = (*path, step)
        if len(values) > 1:  # nobody can own parts of items that have one name
            found.add(inner_path)
            continue
        inner, inner_shape = values[0], part_shape(shape, step)
        below = parts(inner, inner_shape, inner_path)
        states_nothing = inner == [] and inner_shape.is_map
        if not step.startswith("f:") or not (below or states_nothing):
            found.add(inner_path)
        _gather(below, inner_shape, inner_path, found)


def _objects(value: Object, tree: Object, shape: Shape, path: Path) -> Object:
    """Cut fields; the tree is a ``fieldsV1`` of what is to go."""
    cut = {}
    for name, inner in value.items():
        step = f"f:{name}"
        if not is_member(tree.get(step)):
            cut[name] = _cut(inner, tree.get(step), shape.field(name), (*path, step))
    return cut


def _lists(value: list[Json], tree: Object, shape: Shape, path: Path) -> list[Json]:
    return [
        _cut(item, tree.get(step), shape.item or PLAIN, (*path, step))
        for step, item in zip(item_steps(value, shape, path), value, strict=True)
        if not is_member(tree.get(step))
    ]


def _cut(value: Json, tree: Json, shape: Shape, path: Path) -> Json:
    if isinstance(tree, dict):
        if isinstance(value, dict) and not shape.whole:
            return _objects(value, tree, shape, path)
        if isinstance(value, list) and shape.is_map:
            return _lists(value, tree, shape, path)
    return value
