"""What ``make lab`` plays: the story of its texts is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from lab_commands import ROOT, Commands


def test_the_demo_shows_where_connections_go_before_and_after_pods_fail() -> None:
    it = Commands(f"demo{os.getpid()}")
    nearwise = Path(sys.executable).parent / "nearwise"
    try:
        done = subprocess.run(
            ["sh", str(ROOT / "examples" / "lab-demo.sh"), str(nearwise)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "LAB": it.name},
        )
        assert done.returncode == 0, done.stderr
        zones = re.findall(r"^By zone: (.+)\.$", done.stdout, flags=re.MULTILINE)
        assert [re.sub(r" [\d.]+%", "", each) for each in (*zones[:2], *zones[3:])] == [
            *(("zone-a",) * 5),
        ]
        assert {"zone-b", "zone-c"} == set(re.findall(r"zone-\w", zones[2]))
        assert f"lab down --name {it.name}" in done.stdout
    finally:
        it.run("down")
