"""The repository looks after itself: names, sizes, codes, generated pages, help, twins."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nearwise.cli import cli
from nearwise.model.reasons import CATALOGUE, RETIRED

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "nearwise"
FILES = sorted(SOURCE.rglob("*.py"))
_OURS = (".ci", "benchmarks", "docs", "examples", "src", "tests")
WRITTEN = [
    path
    for path in [*ROOT.glob("*"), *(path for name in _OURS for path in (ROOT / name).rglob("*"))]
    if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
]


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


# --- Sizes and names ------------------------------------------------------------------------

LONG_FILES: dict[str, str] = {}


def test_a_file_over_500_lines_is_listed_with_a_reason() -> None:
    long = {named(path) for path in FILES if len(path.read_text().splitlines()) > 500}
    assert long == LONG_FILES.keys()


EMPTY_WORDS = {"manager", "helper", "helpers", "util", "utils", "base", "common", "misc"}


@pytest.mark.parametrize("path", FILES, ids=named)
def test_modules_and_classes_have_names_that_say_something(path: Path) -> None:
    names = [*path.relative_to(SOURCE).with_suffix("").parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
    words = {word.lower() for name in names for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    assert words & EMPTY_WORDS == set()


# What must not get in from the places where the work was done. Written so that this file does
# not name them.
ELSEWHERE = re.compile(
    r"[/]work/|[/]farm/|bash[_]jobs|[.]library|farm[-]|sub[a]gent|before[-]stop"
    r"|registry[.]npmjs|pypi[.]org|deb[.]debian"
)


def test_nothing_names_the_place_where_it_was_made() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in WRITTEN
        if path.suffix not in {".lock", ".gz"}
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if ELSEWHERE.search(line)
    ]
    assert found == []


UNFINISHED = re.compile(r"\b(TODO|FIXME|XX[X]|TBD)\b|mark[.](skip|xfail)|pytest[.](skip|xfail)[(]")


def test_nothing_is_unfinished_or_skipped() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in WRITTEN
        if path.suffix == ".py" and path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert found == []


# --- The catalogue of reasons ---------------------------------------------------------------


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Parse every file but the catalogue itself."""
    for path in FILES:
        if not named(path).startswith("model/catalogue/"):
            yield named(path), ast.parse(path.read_text())


def test_every_code_of_the_catalogue_is_used() -> None:
    written = {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert CATALOGUE.keys() - written == set()


def test_every_code_that_is_used_is_in_the_catalogue() -> None:
    used = {
        (name, node.args[0].value)
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("reason", "Reason")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(used) > 20
    assert {(name, code) for name, code in used if code not in CATALOGUE} == set()


def test_codes_are_kebab_case_and_never_given_again() -> None:
    assert [code for code in CATALOGUE if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)] == []
    assert CATALOGUE.keys() & RETIRED == set()


# --- Documentation --------------------------------------------------------------------------

PAGES: dict[str, str] = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()


@pytest.mark.parametrize("page", sorted(PAGES))
def test_generated_pages_are_up_to_date(page: str) -> None:
    """Run ``python docs/generate.py`` when this fails."""
    assert (ROOT / "docs" / page).read_text() == PAGES[page]


def test_every_code_is_documented() -> None:
    assert [code for code in CATALOGUE if f"| `{code}` |" not in PAGES["reasons.md"]] == []


def commands() -> dict[str, click.Command]:
    top = cli.make_context("nearwise", [], resilient_parsing=True)
    return {
        name: command.make_context(name, [], top, resilient_parsing=True).command
        for name, command in cli.commands.items()
    }


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_and_option_has_help_that_is_a_sentence(name: str) -> None:
    command = commands()[name]
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help.endswith("."), f"{option.name}: {option.help}"


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_help_shows_no_markup(name: str) -> None:
    text = PAGES["cli.md"].partition(f"## nearwise {name}")[2].partition("\n## ")[0]
    assert re.findall(r"\\b|\x08|``", text.replace("```", "")) == []


def outline(page: str) -> list[str]:
    """Return the ranks of the headings of a page."""
    return re.findall(r"^(#+) ", without_code(page), flags=re.MULTILINE)


def without_code(page: str) -> str:
    return re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)


def code_of(page: str) -> list[str]:
    return re.findall(r"^```.*?^```", page, flags=re.MULTILINE | re.DOTALL)


def test_the_readme_in_korean_follows_the_one_in_english() -> None:
    english, korean = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ko.md")
    )
    assert outline(korean) == outline(english)
    assert code_of(korean) == code_of(english)
    assert re.search("[가-힣]", korean)


LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda path: path.name
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, heading in LINK.findall(without_code(page.read_text())):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not heading or heading in anchors(there), f"{target}#{heading}"
