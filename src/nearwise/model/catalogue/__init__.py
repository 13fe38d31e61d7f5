"""The sentences of the catalogue: code, level, and a sentence with the facts as ``{name}``.

Where one is told in other words than several, it has both: ``{pods:a pod is|{pods} pods are}``.

Data only, one file a subject; ``model/reasons.py`` says what it is good for. Codes are permanent:
the sentence of one may get better, and a code that is no longer used is never given again.
"""

from typing import Final

from nearwise.model.catalogue import (
    carried,
    changes,
    disagreements,
    drift,
    hints,
    mirroring,
    nft,
    reading,
    routing,
    slices,
    traffic,
)
from nearwise.model.catalogue.shape import Sections

SECTIONS: Final[Sections] = {
    **reading.SECTIONS,
    **slices.SECTIONS,
    **hints.SECTIONS,
    **mirroring.SECTIONS,
    **traffic.SECTIONS,
    **carried.SECTIONS,
    **changes.SECTIONS,
    **disagreements.SECTIONS,
    **drift.SECTIONS,
    **routing.SECTIONS,
    **nft.SECTIONS,
}
