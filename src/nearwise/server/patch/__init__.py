"""How the API server changes objects: pure functions over plain JSON values.

Nothing that is handed in is changed; results may share parts with it, and are not to be changed
by anybody either. Every refusal is a PatchError, which carries the Status to answer with.
Patches are checked here for their depth; objects are to be checked (``check_depth``) before.
"""

from nearwise.server.patch.apply import apply
from nearwise.server.patch.blanks import blank
from nearwise.server.patch.errors import PatchError
from nearwise.server.patch.json_patch import json_patch
from nearwise.server.patch.merge_patch import merge_patch
from nearwise.server.patch.ownership import settled
from nearwise.server.patch.strategic import strategic_patch
from nearwise.server.patch.updates import Write, manager_name, track_update
from nearwise.server.patch.values import Json, Object, check_depth

__all__ = [
    "Json",
    "Object",
    "PatchError",
    "Write",
    "apply",
    "blank",
    "check_depth",
    "json_patch",
    "manager_name",
    "merge_patch",
    "settled",
    "strategic_patch",
    "track_update",
]
