"""As people get it: a wheel, and a plugin that the real kubectl finds."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sys.executable).parent


def test_the_wheel_holds_the_package_its_types_and_both_scripts(tmp_path: Path) -> None:
    subprocess.run(
        [SCRIPTS / "uv", "build", "--quiet", "--wheel", "--out-dir", tmp_path, ROOT], check=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
        (entries,) = (name for name in names if name.endswith("entry_points.txt"))
        scripts = content.read(entries).decode()

    assert {"nearwise/py.typed", "nearwise/cli/explain.py", "nearwise/slices/packing.py"} <= names
    assert not [name for name in names if name.startswith("tests/")]
    assert "nearwise = nearwise.cli:main" in scripts
    assert "kubectl-nearwise = nearwise.cli:main" in scripts


def test_kubectl_finds_the_plugin_and_it_answers() -> None:
    environment = {**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"}
    dump = ROOT / "examples" / "flag-server-1-hints-on.yaml"
    done = subprocess.run(
        [SCRIPTS / "kubectl", "nearwise", "explain", "platform/feature-flags", "-f", dump],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert "2 of 4 ready endpoints get all the traffic, 2 get none." in done.stdout
