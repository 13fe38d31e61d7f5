"""Measure the running system: ``python -m benchmarks.live [WORD...]``."""

from __future__ import annotations

import sys

from benchmarks.live.report import report

report(sys.argv[1:])
