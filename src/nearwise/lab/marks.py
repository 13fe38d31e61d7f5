"""The annotations by which a lab is told what to do, by its commands or by kubectl."""

from typing import Final

READY: Final = "nearwise.dev/ready"
"""On a pod: ``false`` has it fail its readiness probe, while it serves on."""
POWER: Final = "nearwise.dev/power"
"""On a node: ``off`` takes it off the net with everything on it."""
EVERY_NODE: Final = "nearwise.dev/every-node"
"""On a pod: ``true`` for pods of which every node has one, as those of a DaemonSet."""
