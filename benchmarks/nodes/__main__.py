"""Measure a node: ``python -m benchmarks.nodes [--full] [WORD...]``."""

from __future__ import annotations

import sys

from benchmarks.nodes.report import report

words = sys.argv[1:]
report([word for word in words if word != "--full"], full="--full" in words)
