"""The shape of the house: who may import whom, and what decides without touching the world."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "nearwise"

# --- The rules ------------------------------------------------------------------------------

_CORE = {"model", "slices", "routing", "nft", "insight"}
PURE = {*_CORE, "vectors", "machinery"}

MAY_IMPORT: dict[str, set[str]] = {
    # Above the line: no I/O, no clock, no chance, no threads, no logs.
    "model": set(),
    "slices": {"model"},
    "routing": {"model"},
    "nft": {"routing", "model"},
    "insight": {"nft", "routing", "slices", "model"},
    "vectors": {"routing", "slices", "model"},
    "machinery": {"model"},
    # Below it. These meet only in the command line and the lab.
    "": set(),  # nearwise itself: its version
    "settings": set(),
    "client": {"machinery", "model", ""},
    "store": {"machinery", "model"},
    "loops": {"machinery", "model"},
    "server": {"store", "loops", "machinery", "model", ""},
    "controllers": {"loops", "machinery", "slices", "model"},
    "proxy": {"loops", "machinery", "nft", "routing", "model"},
    "history": _CORE,
    "web": {*_CORE, "history", ""},
    "__main__": {"cli"},
    "testing": {"server", ""},  # runs the lab in a process of its own
    "pytest_plugin": {"testing"},
}
"""Packages of ours, and which others each may import; itself always."""
MAY_IMPORT["cli"] = MAY_IMPORT["lab"] = set(MAY_IMPORT) - {"__main__", "pytest_plugin"}
MAY_IMPORT["cli"].add("lab")

THIRD_PARTY: dict[str, set[str]] = {
    "msgspec": {*MAY_IMPORT},
    "yaml": {"model", "cli"},
    "click": {"cli"},
    "aiohttp": {"client"},
    "prometheus_client": {"loops", "controllers", "proxy"},
    "uvicorn": {"server"},
    "cryptography": {"server"},
    "pytest": {"pytest_plugin"},
}
"""Who may import which library."""

# What touches the world: files, network, clock, chance, threads, processes, logs.
WORLD = {
    *("io", "os", "sys", "pathlib", "tempfile", "shutil", "glob", "fileinput", "mmap"),
    *("socket", "ssl", "select", "selectors", "http", "urllib", "asyncio"),
    *("time", "random", "secrets", "uuid", "sched", "signal"),
    *("threading", "multiprocessing", "concurrent", "subprocess", "contextvars", "queue"),
    *("logging", "warnings", "getpass", "platform", "gc", "atexit", "importlib"),
}
WORLD_ALLOWED = {("model.codec", "gc")}  # paused while objects are decoded
WORLD_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint", "__import__"}
CLOCKS = {"now", "utcnow", "today", "localtime", "monotonic", "perf_counter"}


# --- Reading the source ---------------------------------------------------------------------


class Module(NamedTuple):
    """A file of ours, taken apart."""

    name: str  # without the leading nearwise
    tree: ast.Module
    is_package: bool

    @property
    def package(self) -> str:
        """Return the package right below nearwise that the module is in."""
        return self.name.partition(".")[0]


def modules() -> Iterator[Module]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        yield Module(name, ast.parse(path.read_text(), str(path)), is_package)


MODULES = {module.name: module for module in modules()}
NAMES = [pytest.param(module, id=module.name or "nearwise") for module in MODULES.values()]
PURE_NAMES = [
    pytest.param(module, id=module.name) for module in MODULES.values() if module.package in PURE
]


class Import(NamedTuple):
    """What one import statement names, and whether it is carried out when the module is."""

    name: str
    at_once: bool


def imports(module: Module) -> Iterator[Import]:
    """Find all imports, also those inside functions and those for type checkers."""
    at_once = set(map(id, _at_once(module.tree)))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, id(node) in at_once)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}: imports are written in full"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner.removeprefix("nearwise.") in MODULES
                yield Import(inner if is_module else node.module, id(node) in at_once)


def _at_once(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk what runs when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _at_once(node)


def ours(name: str) -> str | None:
    """Return the name of a module of ours, without the leading nearwise; None for others."""
    if name == "nearwise":
        return ""
    return name.removeprefix("nearwise.") if name.startswith("nearwise.") else None


# --- The tests ------------------------------------------------------------------------------


def test_every_package_has_its_place_in_the_table() -> None:
    assert {module.package for module in MODULES.values()} <= set(MAY_IMPORT)


def test_the_page_about_the_parts_says_the_same_as_the_table() -> None:
    page = (SOURCE.parent.parent / "docs" / "architecture.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", page, flags=re.MULTILINE))
    assert rows.keys() == {m.package for m in MODULES.values() if m.is_package} - {""}
    for package in rows.keys() - {"lab", "cli"}:  # which import everything
        assert set(re.findall(r"`(\w+)`", rows[package])) == MAY_IMPORT[package] - {""}


@pytest.mark.parametrize("module", NAMES)
def test_imports_of_ours_go_down_only(module: Module) -> None:
    imported = {ours(each.name) for each in imports(module)} - {None}
    packages = {str(name).partition(".")[0] for name in imported}
    assert packages <= MAY_IMPORT[module.package] | {module.package}


@pytest.mark.parametrize("module", NAMES)
def test_libraries_are_imported_where_they_belong(module: Module) -> None:
    roots = {each.name.partition(".")[0] for each in imports(module)} - {"nearwise"}
    libraries = roots - sys.stdlib_module_names
    assert libraries <= {name for name, users in THIRD_PARTY.items() if module.package in users}


def test_no_module_needs_itself_to_be_imported() -> None:
    needs = {
        module.name: {
            name
            for each in imports(module)
            if each.at_once and (name := ours(each.name)) is not None and name != module.name
        }
        for module in MODULES.values()
    }
    try:
        list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("module", PURE_NAMES)
def test_what_decides_does_not_import_what_touches_the_world(module: Module) -> None:
    roots = {each.name.partition(".")[0] for each in imports(module)}
    assert {name for name in roots & WORLD if (module.name, name) not in WORLD_ALLOWED} == set()


@pytest.mark.parametrize("module", PURE_NAMES)
def test_what_decides_does_not_ask_the_world(module: Module) -> None:
    asked = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in WORLD_CALLS:
            asked.append(f"line {node.lineno}: {called.id}()")
        if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
            asked.append(f"line {node.lineno}: {ast.unparse(called)}()")
    assert asked == []


@pytest.mark.parametrize("module", PURE_NAMES)
def test_what_decides_remembers_nothing_between_calls(module: Module) -> None:
    """No module-level value is changed by a function (``global``)."""
    assert [node.lineno for node in ast.walk(module.tree) if isinstance(node, ast.Global)] == []


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nearwise", option],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    loaded = {name for name in imported if name.startswith("nearwise")}
    assert loaded <= {"nearwise", "nearwise.cli", "nearwise.__main__"}
    assert "click" in imported
    assert imported & {"msgspec", "yaml", "aiohttp", "asyncio", "json", "difflib"} == set()
