"""What the pages say of the forms for machines is what the commands print."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from nearwise.cli import cli

ROOT = Path(__file__).parents[2]
SHOP = str(ROOT / "examples" / "shop.yaml")


def printed(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        CliRunner().invoke(cli, [*arguments, "-f", SHOP, "-o", "json"]).stdout
    )
    return document


def shown(page: str) -> dict[str, Any]:
    """Return the document that stands as YAML on a page."""
    (block,) = re.findall(
        r"^```yaml\n(apiVersion: nearwise/.*?)^```", (ROOT / "docs" / page).read_text(), re.M | re.S
    )
    document: dict[str, Any] = yaml.safe_load(block)
    return document


def fields(value: Any) -> Any:
    """Return the fields of a document: those of a list are those of its first item."""
    if isinstance(value, list):
        return [fields(value[0])] if value and isinstance(value[0], dict) else []
    return {key: fields(each) for key, each in value.items()} if isinstance(value, dict) else None


def without_reasons(value: Any) -> Any:
    """Leave out lists of reasons, for which the pages have empty lists."""
    if isinstance(value, list):
        return [without_reasons(each) for each in value if "code" not in each]
    if isinstance(value, dict):
        return {key: without_reasons(each) for key, each in value.items()}
    return value


def test_the_page_about_hints_shows_the_document_of_shop_search() -> None:
    assert shown("hints.md") == without_reasons(printed("hints", "shop/search"))


def test_the_page_about_slices_shows_every_field_of_a_difference() -> None:
    real = printed("slices", "--diff")
    assert fields(shown("slices.md")) == fields(without_reasons(real))


def test_the_page_about_explain_names_every_field() -> None:
    page = (ROOT / "docs" / "explain.md").read_text().partition("## For machines")[2]
    named = set(re.findall(r"`(\w+)(?:\[\])?`", page))
    found = printed("explain", "search")
    (part,) = found["parts"]
    inner = [*part["ports"], *part["groups"], *part["endpoints"], *part["zones"], *found["hints"]]
    real = {key for each in (found, part, *inner) for key in each}
    assert real - named == {"apiVersion", "kind"}


def test_a_reason_has_the_four_fields_that_the_pages_name() -> None:
    (asked, *_) = printed("explain", "search")["asked"]
    assert list(asked) == ["code", "level", "text", "facts"]


def test_slices_without_a_difference_are_a_list_that_kubectl_reads() -> None:
    document = printed("slices", "search")
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    assert {item["kind"] for item in document["items"]} == {"EndpointSlice"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("dump", "service"), [("shop", "orders"), ("flag-server-1-hints-on", "feature-flags")]
)
def test_not_a_letter_depends_on_the_order_in_the_dump(dump: str, service: str, seed: int) -> None:
    listed = yaml.load((ROOT / "examples" / f"{dump}.yaml").read_bytes(), Loader=yaml.CSafeLoader)

    def answers() -> list[str]:
        commands = (["explain", service], ["hints", "--all"], ["slices", "--diff"])
        data = json.dumps(listed)
        return [
            CliRunner().invoke(cli, [*command, "-f", "-", "-o", "json"], input=data).stdout
            for command in commands
        ]

    before = answers()
    chance = random.Random(seed)
    chance.shuffle(listed["items"])
    for item in listed["items"]:
        chance.shuffle(item.get("endpoints") or [])

    assert answers() == before
    assert all(before)
