"""The command line's frame: help, errors and exit codes, tables, documents, where it reads."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from fake_cluster import FakeCluster, serving
from nearwise import __version__
from nearwise.cli import COMMANDS, Exit, cli, output
from nearwise.cli.output import (
    Colour,
    Format,
    Painted,
    harmless,
    print_document,
    print_line,
    print_note,
    print_table,
    progress,
)
from nearwise.cli.sentences import print_reasons
from nearwise.cli.source import Source, load, scope, source_options
from nearwise.client.errors import ClusterError
from nearwise.model import EndpointPort, reason
from nearwise.model.codec import InputError
from nearwise.model.yamltree import documents

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*arguments: str, program: str = "nearwise", **environment: str) -> Any:
    """Run the command line in a process of its own, under a name."""
    code = (
        f"import sys; sys.argv[0] = '/usr/local/bin/{program}'; "
        "from nearwise.cli import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


# --- Help and usage -------------------------------------------------------------------------


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"nearwise {__version__}\n")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command_with_a_line_of_its_own(option: str) -> None:
    done = run(option)
    assert done.returncode == 0
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    for name, text in COMMANDS.items():
        assert [name, text] in lines


def test_as_a_plugin_of_kubectl_usage_says_kubectl_nearwise() -> None:
    done = run("snapshot", "-h", program="kubectl-nearwise")
    assert done.stdout.startswith("Usage: kubectl nearwise snapshot [OPTIONS]\n")


def test_python_m_nearwise_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearwise", "-h"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: nearwise [OPTIONS] COMMAND")


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    done = run("explian")
    assert done.returncode == Exit.INPUT
    assert "No such command 'explian'. Did you mean 'explain'?" in done.stderr


def test_an_unknown_option_is_a_mistake_of_usage() -> None:
    done = run("snapshot", "--nope")
    assert done.returncode == Exit.INPUT
    assert "No such option '--nope'" in done.stderr


def test_the_shell_can_complete_commands_and_options() -> None:
    def complete(words: str, at: int) -> list[str]:
        done = run(
            _NEARWISE_COMPLETE="bash_complete", COMP_WORDS=f"nearwise {words}", COMP_CWORD=str(at)
        )
        return [line.partition(",")[2] for line in str(done.stdout).splitlines()]

    assert complete("sn", 1) == ["snapshot"]
    assert "--kubeconfig" in complete("snapshot --ku", 2)


# --- Errors and exit codes ------------------------------------------------------------------


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Result]:
    """Run ``nearwise vectors`` with another body."""

    def running(body: Callable[[], Any]) -> Result:
        module = types.ModuleType("nearwise.cli.vectors")
        module.command = click.command("vectors")(body)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "nearwise.cli.vectors", module)
        return CliRunner().invoke(cli, ["vectors"])

    return running


Running = Callable[[Callable[[], Any]], Result]


def raising(error: BaseException) -> Callable[[], Any]:
    def body() -> None:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            InputError("expected text", source="a.yaml", line=3, field="spec.type"),
            2,
            "a.yaml, line 3: spec.type: expected text",
        ),
        (ClusterError("cannot reach https://x"), 3, "cannot reach https://x"),
        (FileNotFoundError(2, "No such file", "a.yaml"), 2, "a.yaml: No such file"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (click.UsageError("that is no zone"), 2, "that is no zone"),
    ],
)
def test_what_went_wrong_is_said_in_one_line_and_the_exit_code_says_whose_turn_it_is(
    running: Running, error: Exception, code: int, message: str
) -> None:
    done = running(raising(error))
    assert done.exit_code == code
    assert done.stderr.splitlines()[-1] == f"Error: {message}"
    assert "Traceback" not in done.output


def test_a_mistake_of_ours_shows_where_and_asks_for_a_report(running: Running) -> None:
    done = running(raising(KeyError("zone")))
    assert done.exit_code == Exit.BUG
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: Nearwise made a mistake: KeyError: 'zone' at ")
    assert "test_cli.py:" in first
    assert "NEARWISE_DEBUG=1" in second


def test_the_traceback_is_shown_on_request(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARWISE_DEBUG", "1")
    done = running(raising(InputError("x")))
    assert isinstance(done.exception, InputError)


def test_findings_and_fine_have_their_codes(running: Running) -> None:
    def findings() -> None:
        click.get_current_context().exit(Exit.FINDINGS)

    assert running(findings).exit_code == 1
    assert running(lambda: None).exit_code == 0


def test_an_interrupt_ends_without_a_traceback() -> None:
    code = (
        "import os, signal, sys, types, click, nearwise.cli\n"
        "kill = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "module = types.ModuleType('vectors')\n"
        "module.command = click.Command('vectors', callback=kill)\n"
        "sys.modules['nearwise.cli.vectors'] = module\n"
        "sys.argv[1:] = ['vectors']\n"
        "nearwise.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INTERRUPTED
    assert done.stderr.strip() == "Interrupted."


def test_a_reader_that_has_left_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["snapshot", "-f", str(EXAMPLES / "shop.yaml")]
    done = subprocess.run(
        [sys.executable, "-m", "nearwise", *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (Exit.PIPE_CLOSED, "")


def test_a_terminal_that_cannot_show_a_name_is_no_error() -> None:
    done = run("snapshot", "-f", "/nowhere/가게.yaml", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == Exit.INPUT
    assert "/nowhere/" in done.stderr
    assert "Traceback" not in done.stderr


# --- Tables ---------------------------------------------------------------------------------


def test_columns_are_aligned_also_with_wide_and_combining_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(
        ["NAME", "존", "AGE"],
        [["web", "서울-a", "1h"], ["café", "b", Painted("2h", Colour.RED)], ["long-name"]],
        indent=2,
    )
    assert capsys.readouterr().out.splitlines() == [
        "  NAME        존       AGE",
        "  web         서울-a   1h",
        "  café        b        2h",
        "  long-name",
    ]


def test_a_table_without_headers_has_no_header_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([], [["a", "b"], ["ccc", "d"]])
    assert capsys.readouterr().out == "a     b\nccc   d\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("right\u202eleft", "right\\u202eleft"),
        ("half\ud800", "half\\ud800"),
        ("서울", "서울"),
    ],
)
def test_what_comes_out_of_a_cluster_cannot_steer_the_terminal(
    text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert harmless(text) == shown
    print_line(text)
    print_note(text)
    assert capsys.readouterr() == (f"{shown}\n", f"{shown}\n")


@given(st.text())
def test_whatever_is_shown_is_printable(text: str) -> None:
    assert harmless(text).isprintable()


def test_a_broken_object_s_name_cannot_steer_the_terminal_or_begin_a_line(
    running: Running,
) -> None:
    done = running(raising(InputError("expected text", object="Service on/\x1b[31mred\nError: x")))
    assert done.stderr.splitlines()[-1] == (
        "Error: Service on/\\x1b[31mred\\nError: x: expected text"
    )


@given(st.text(), st.integers(-1, 2))
def test_json_holds_nothing_that_a_terminal_would_act_on_and_loses_nothing(
    text: str, indent: int
) -> None:
    value = {"a": text.encode(errors="replace").decode()}
    written = output.to_json(value, indent=indent)
    assert all(line.isprintable() for line in written.split("\n"))
    assert json.loads(written) == value


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        ({"TERM": "xterm"}, "\x1b[31mbad\x1b[0m\n"),
        ({"TERM": "dumb"}, "bad\n"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "bad\n"),
        ({"TERM": "xterm", "NO_COLOR": ""}, "\x1b[31mbad\x1b[0m\n"),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    environment: dict[str, str], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_line(Painted("bad", Colour.RED))
    assert terminal.getvalue() == shown


# --- Documents ------------------------------------------------------------------------------


class Told(msgspec.Struct, rename="camel"):
    """Something that a command hands over."""

    why_so: tuple[Any, ...]
    port: EndpointPort


@pytest.mark.parametrize("form", [Format.JSON, Format.YAML])
def test_a_document_has_a_version_and_a_kind_and_reasons_speak(
    form: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    finished = reason("pod-finished", pod="web-1", phase="Failed")
    told = Told((finished,), EndpointPort(name="http", port=80))
    print_document(form, "Explanation", {"answers": [told], "share": 0.5, "none": None})
    printed = capsys.readouterr().out
    assert (json.loads if form is Format.JSON else yaml.safe_load)(printed) == {
        "apiVersion": "nearwise/v1",
        "kind": "Explanation",
        "answers": [
            {
                "whySo": [
                    {
                        "code": "pod-finished",
                        "level": "info",
                        "text": finished.text,
                        "facts": {"pod": "web-1", "phase": "Failed"},
                    }
                ],
                "port": {"name": "http", "port": 80},
            }
        ],
        "share": 0.5,
        "none": None,
    }


def test_yaml_has_no_anchors() -> None:
    shared = {"a": [1]}
    assert output.to_yaml([shared, shared]) == "- a:\n  - 1\n- a:\n  - 1\n"


@given(
    st.text(st.characters(codec="utf-8"))
    | st.sampled_from([*"yYnN~", "on", "No", "null", "1e3", "0o7", "1_0", "08", "1:30", ".5", "="])
)
def test_what_is_written_as_yaml_is_read_as_what_it_was(text: str) -> None:
    (_, read) = next(documents(output.to_yaml([text, {"a": text}]).encode(), ""))
    assert read == [text, {"a": text}]


@pytest.mark.parametrize(("columns", "longest"), [(60, 60), (300, 100), (10, 51)])
def test_sentences_are_as_wide_as_a_narrow_terminal(
    columns: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")

    print_reasons([reason("service-headless", service="a b " * 60)], wide=False)

    assert longest - 10 < max(map(len, terminal.getvalue().splitlines())) <= longest


def test_the_choices_of_o_are_those_of_the_command() -> None:
    @click.command()
    @output.output_option(Format.TABLE, Format.JSON)
    def command(output: Format) -> None:
        click.echo(f"{output!r} {output.is_document}")

    assert CliRunner().invoke(command, []).output == "<Format.TABLE: 'table'> False\n"
    assert CliRunner().invoke(command, ["-o", "json"]).output == "<Format.JSON: 'json'> True\n"
    assert CliRunner().invoke(command, ["-o", "yaml"]).exit_code == Exit.INPUT


# --- Progress -------------------------------------------------------------------------------


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Give what is to happen after a second, so that a test can let it happen."""
    waiting: list[Callable[[], None]] = []

    class Timer:
        daemon = False

        def __init__(self, _seconds: float, function: Callable[[], None]) -> None:
            waiting.append(function)

        def start(self) -> None: ...

        def cancel(self) -> None: ...

        def join(self) -> None: ...

    monkeypatch.setattr("threading.Timer", Timer)
    return waiting


def test_progress_shows_on_a_terminal_after_a_second_and_leaves_nothing(
    seconds: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("reading") as change:
        change("reading \x1b")
        seconds[0]()
        change("nearly there")
    assert terminal.getvalue() == ("\r\x1b[Kreading \\x1b\r\x1b[Knearly there\r\x1b[K")


def test_progress_is_silent_when_it_is_quick_or_nobody_looks(
    seconds: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress("reading"):
            pass
        assert stream.getvalue() == ""
    assert len(seconds) == 1  # nothing waits when nobody looks


# --- Where a command reads ------------------------------------------------------------------


def asked(*arguments: str) -> Result:
    @click.command()
    @source_options
    @click.option("--more")
    def command(source: Source, more: str | None) -> None:
        click.echo(f"{source!r} {more}")

    return CliRunner().invoke(command, list(arguments))


def test_the_options_of_the_source_arrive_as_one_value() -> None:
    words = ["-f", "a", "-f", "-", "-n", "shop", "-A", "--more", "x"]
    assert asked(*words).output == (
        "Source(filenames=('a', '-'), kubeconfig=None, context=None, namespace='shop', "
        "all_namespaces=True) x\n"
    )
    assert "kubeconfig='k', context='c'" in asked("--kubeconfig", "k", "--context", "c").output


def test_files_and_a_context_exclude_each_other() -> None:
    done = asked("-f", "a", "--context", "c")
    assert done.exit_code == Exit.INPUT
    assert "-f reads files; --kubeconfig and --context a live cluster" in done.stderr


def test_the_scope_of_a_dump_is_all_of_it_and_of_a_cluster_the_namespace_of_the_context(
    tmp_path: Path,
) -> None:
    live = in_kubeconfig(tmp_path, "http://127.0.0.1:1")
    assert scope(live) == "lab"
    assert scope(live._replace(namespace="shop")) == "shop"
    assert scope(live._replace(namespace="shop", all_namespaces=True)) is None
    dump = Source(filenames=("a",))
    assert scope(dump) is None
    assert scope(dump._replace(namespace="shop")) == "shop"


def test_a_dump_is_read_and_what_is_odd_about_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    file = tmp_path / "twice.json"
    labelled = {**node, "metadata": {"name": "n", "labels": {"a": "b"}}}
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node, labelled]}))
    objects = load(Source(filenames=(str(file),)))
    assert len(objects.nodes) == 1
    assert capsys.readouterr().err == f"Note: {objects.notices[0].text}\n"


def in_kubeconfig(folder: Path, server: str) -> Source:
    path = folder / "kubeconfig"
    path.write_text(
        "current-context: a\n"
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        "contexts: [{name: a, context: {cluster: c, namespace: lab}}]\n"
    )
    return Source(kubeconfig=str(path))


def test_a_live_cluster_is_read_in_scope_and_pods_elsewhere_only_when_they_may_be_clients(
    tmp_path: Path,
) -> None:
    places = [(kind, namespace) for kind in ("Service", "Pod") for namespace in ("lab", "shop")]
    objects = [
        {"kind": kind, "metadata": {"name": "x", "namespace": namespace}}
        for kind, namespace in places
    ]
    with serving(FakeCluster([*objects, {"kind": "Node", "metadata": {"name": "n"}}])) as cluster:
        source = in_kubeconfig(tmp_path, cluster.server)
        narrow, wide = load(source), load(source, all_pods=True)
    assert [pod.metadata.namespace for pod in narrow.pods] == ["lab"]
    assert [pod.metadata.namespace for pod in wide.pods] == ["lab", "shop"]
    assert [service.metadata.namespace for service in wide.services] == ["lab"]
    assert len(narrow.nodes) == 1


def test_a_cluster_that_is_not_there_ends_with_3_and_says_which_it_was(tmp_path: Path) -> None:
    with serving(FakeCluster()) as gone:
        source = in_kubeconfig(tmp_path, gone.server)
    done = CliRunner().invoke(cli, ["snapshot", "--kubeconfig", str(source.kubeconfig)])
    assert done.exit_code == Exit.CLUSTER
    assert done.stderr == (
        f"Error: cannot reach {gone.server}: connection refused; "
        f"is the context right? (context a in {source.kubeconfig})\n"
    )
