"""An applied configuration laid over the live object (server-side apply's merge).

What the configuration states wins; what it is silent about stays. Nothing is removed here:
whether a manager's silence means removal is decided from ownership, in ``apply``.
"""

from __future__ import annotations

from collections import Counter, deque

from nearwise.server.patch.contents import item_steps, parts
from nearwise.server.patch.fields import Path
from nearwise.server.patch.schema import PLAIN, Shape
from nearwise.server.patch.values import Json, Object


def overlay(live: Object, config: Object, shape: Shape) -> Object:
    """Merge a configuration, in which no list item is repeated, into a live object.

    Raises PatchError (422) when items of a live list cannot be told apart.
    """
    return _objects(live, config, shape, ())


def _merged(live: Json, config: Json, shape: Shape, path: Path) -> Json:
    if config is None and parts(live, shape, path):
        return live  # null takes nothing out
    if isinstance(live, dict) and isinstance(config, dict) and not shape.whole:
        return _objects(live, config, shape, path)
    if isinstance(live, list) and isinstance(config, list) and shape.is_map:
        return _lists(live, config, shape, path)
    return config


def _objects(live: Object, config: Object, shape: Shape, path: Path) -> Object:
    merged = dict(live)
    for name, value in config.items():
        if name in live:
            merged[name] = _merged(live[name], value, shape.field(name), (*path, f"f:{name}"))
        else:
            merged[name] = value
    return merged


def _lists(live: list[Json], config: list[Json], shape: Shape, path: Path) -> list[Json]:
    """Merge by item. The configuration's order holds; others keep their place among the shared.

    Items of the live list that share a key are replaced together, or stay together.
    """
    steps = item_steps(live, shape, path)
    stated = dict(zip(item_steps(config, shape, path), config, strict=True))
    repeated = {step for step, times in Counter(steps).items() if times > 1}
    present = dict(zip(steps, live, strict=True))
    for step in stated.keys() & present.keys() - repeated:
        inner = shape.item or PLAIN
        stated[step] = _merged(present[step], stated[step], inner, (*path, step))

    merged: list[Json] = []
    to_come = deque(stated)
    shared = deque(step for step in stated if step in present)
    for step, item in zip(steps, live, strict=True):
        if step not in stated:
            merged.append(item)
        elif shared and step == shared[0]:
            shared.popleft()
            while to_come[0] != step:
                merged.append(stated[to_come.popleft()])
            merged.append(stated[to_come.popleft()])
        # else it is out of the configuration's order: it comes in its turn
    merged.extend(stated[step] for step in to_come)
    return merged
