"""An applied configuration laid over the live object (server-side apply's merge).

What the configuration states wins; what it is silent about stays. Nothing is removed here:
whether a manager's silence means removal is decided from ownership, in ``apply``.
"""

from __future__ import annotations

from nearwise.server.patch.contents import item_steps
from nearwise.server.patch.fields import Path
from nearwise.server.patch.schema import PLAIN, Shape
from nearwise.server.patch.values import Json, Object


def overlay(live: Object, config: Object, shape: Shape) -> Object:
    """Merge a configuration, in which no list item is repeated, into a live object.

    Raises PatchError (422) when items of a live list cannot be told apart.
    """
    return _objects(live, config, shape, ())


def _merged(live: Json, config: Json, shape: Shape, path: Path) -> Json:
    if shape.whole:
        return config
    if isinstance(live, dict) and isinstance(config, dict):
        return _objects(live, config, shape, path)
    if isinstance(live, list) and isinstance(config, list) and shape.is_map and live and config:
        return _lists(live, config, shape, path)
    if config is None and live and isinstance(live, (dict, list)) and (shape.is_map or ...):
        return live
    return config
