"""The node's decisions: many slices to one view, a view and a place to the backends that are used.

Law: pure, as all of the core. ``merge`` says who is there, ``select`` who is used and why,
``profiles`` how data planes differ. Nothing here writes hints or rules.
"""

from nearwise.routing.backend import Backend
from nearwise.routing.merge import ServiceView, merge
from nearwise.routing.pool import Pool
from nearwise.routing.preferences import Client, Mode
from nearwise.routing.profiles import KUBE_PROXY, PROFILES, Profile, profile_for
from nearwise.routing.select import Fate, Selection, is_routed, select

__all__ = [
    "KUBE_PROXY",
    "PROFILES",
    "Backend",
    "Client",
    "Fate",
    "Mode",
    "Pool",
    "Profile",
    "Selection",
    "ServiceView",
    "is_routed",
    "merge",
    "profile_for",
    "select",
]
