"""The page about the table shows what the proxy really writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from nearwise.cli import cli

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "nftables.md").read_text()


def test_every_line_of_the_listing_is_one_of_the_dry_run(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```console\n\$ nearwise (.*?)\n(.*?)```", PAGE, re.S)
    command, shown = block
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(cli, command.split())
    assert result.exit_code == 0
    written = set(result.stdout.splitlines())
    lines = [line for line in shown.splitlines() if line.strip() != "}"]
    assert len(lines) > 15
    assert [line for line in lines if line not in written] == []
