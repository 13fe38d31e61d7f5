"""`make demo` tells what it promises: two scripts, run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEARWISE = Path(sys.executable).parent / "nearwise"


def demo(script: str) -> str:
    done = subprocess.run(
        ["sh", ROOT / "examples" / script, NEARWISE],
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_flag_server_story_is_told_from_three_dumps() -> None:
    told = demo("demo.sh")

    assert told.count("2 of 4 ready endpoints get all the traffic, 2 get none.") == 1
    assert told.count("All 4 ready endpoints share the traffic evenly: 25 % each.") == 1
    assert "goes to feature-flags-7c9f-1 and feature-flags-7c9f-2." in told
    assert "ap-northeast-2a 3, ap-northeast-2c 2 of 4 ready endpoints" in told


def test_a_control_plane_is_begun_the_shop_loaded_and_a_daemon_set_rolled() -> None:
    told = demo("live-demo.sh")

    assert "shop/search            IPv4     Auto (annotation over PreferClose)   all 9" in told
    changes = [line for line in told.splitlines() if "because cache-preloader-" in line]
    assert [line.split("because ")[1][:17] for line in changes] == [
        f"cache-preloader-{number}" for number in (0, 0, 1, 1, 2, 2)
    ]
    assert "same-node (1 endpoint) → same-zone (1 endpoint)" in told
    assert "same-zone (1 endpoint) → same-node (1 endpoint)" in told
