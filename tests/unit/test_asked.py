"""Which hints a service asks for: two annotations, one field, one order."""

import pytest

from nearwise.model import ObjectMeta, Service
from nearwise.model.core import ServiceSpec
from nearwise.model.wellknown import TOPOLOGY_AWARE_HINTS, TOPOLOGY_MODE
from nearwise.slices.asked import Mode, asked


def service(
    newer: str | None = None, older: str | None = None, field: str | None = None
) -> Service:
    annotations = {TOPOLOGY_MODE: newer, TOPOLOGY_AWARE_HINTS: older}
    return Service(
        metadata=ObjectMeta(
            name="web", annotations={k: v for k, v in annotations.items() if v is not None}
        ),
        spec=ServiceSpec(traffic_distribution=field),
    )


@pytest.mark.parametrize(
    ("newer", "older", "field", "mode", "by", "distribution"),
    [
        (None, None, None, Mode.NONE, "", None),
        ("Auto", None, None, Mode.SHARES, TOPOLOGY_MODE, None),
        ("auto", None, None, Mode.SHARES, TOPOLOGY_MODE, None),
        ("AUTO", None, None, Mode.NONE, "", None),
        ("", None, None, Mode.NONE, "", None),
        (None, "auto", None, Mode.SHARES, TOPOLOGY_AWARE_HINTS, None),
        ("Auto", "Disabled", None, Mode.NONE, "", None),
        ("Auto", "", None, Mode.NONE, "", None),
        ("Disabled", "Auto", None, Mode.SHARES, TOPOLOGY_AWARE_HINTS, None),
        (None, None, "PreferClose", Mode.SAME_ZONE, "trafficDistribution", "PreferClose"),
        (None, None, "PreferSameZone", Mode.SAME_ZONE, "trafficDistribution", "PreferSameZone"),
        (None, None, "PreferSameNode", Mode.SAME_NODE, "trafficDistribution", "PreferSameNode"),
        (None, None, "PreferRegion", Mode.NONE, "", None),
        ("Auto", None, "PreferSameNode", Mode.SHARES, TOPOLOGY_MODE, None),
        ("PreferZone", None, "PreferClose", Mode.SAME_ZONE, "trafficDistribution", "PreferClose"),
        ("Auto", "junk", "PreferClose", Mode.SAME_ZONE, "trafficDistribution", "PreferClose"),
    ],
)
def test_what_is_asked_for_and_what_decides(
    newer: str | None,
    older: str | None,
    field: str | None,
    mode: Mode,
    by: str,
    distribution: str | None,
) -> None:
    answer = asked(service(newer, older, field))

    assert (answer.mode, answer.by, answer.distribution) == (mode, by, distribution)


@pytest.mark.parametrize(
    ("of", "texts"),
    [
        (
            service(),
            ["no hints: neither trafficDistribution nor the topology annotation is set"],
        ),
        (
            service(newer="Auto", field="PreferSameZone"),
            [
                "hints by CPU share are asked for (service.kubernetes.io/topology-mode=Auto)",
                "the annotation service.kubernetes.io/topology-mode=Auto wins over "
                "trafficDistribution PreferSameZone, whether it gives hints or not: the field "
                "counts only without it",
            ],
        ),
        (
            service(newer="Auto", older="off"),
            [
                "the older annotation service.kubernetes.io/topology-aware-hints=off hides "
                "service.kubernetes.io/topology-mode=Auto",
                "the annotation service.kubernetes.io/topology-aware-hints=off does not ask for "
                "hints; only Auto does",
            ],
        ),
        (
            service(newer="Disabled", field="PreferSameNode"),
            [
                "the annotation service.kubernetes.io/topology-mode=Disabled does not ask for "
                "hints; only Auto does",
                "hints ask for the same node, then the same zone (trafficDistribution "
                "PreferSameNode)",
            ],
        ),
        (
            service(field="PreferRegion"),
            ["no hints: trafficDistribution PreferRegion is not a known value"],
        ),
    ],
    ids=["nothing", "both", "two annotations", "an annotation that does not ask", "unknown value"],
)
def test_the_reasons_say_what_wins_over_what(of: Service, texts: list[str]) -> None:
    assert [reason.text for reason in asked(of).reasons] == texts


def test_two_annotations_that_agree_are_not_worth_a_word() -> None:
    codes = [reason.code for reason in asked(service(newer="Auto", older="Auto")).reasons]

    assert codes == ["hints-by-annotation"]
