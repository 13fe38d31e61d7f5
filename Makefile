# One entry for everything: `make demo` shows what Nearwise does, `make test` runs every test,
# `sudo make lab` runs a cluster of three zones on this machine.
PYTHON ?= python3
VENV := .venv
UV_VERSION := 0.13.9
UV := $(VENV)/bin/uv
READY := $(VENV)/.ready

.PHONY: demo lab test programs check bench docs clean

demo: $(READY)
	@sh examples/demo.sh $(VENV)/bin/nearwise
	@sh examples/live-demo.sh $(VENV)/bin/nearwise

lab: programs $(READY)
	@sh examples/lab-demo.sh $(VENV)/bin/nearwise

test: programs $(READY) check
	$(VENV)/bin/pytest

# The programs beside Python that the tests need: installs them where it can.
programs:
	@PYTHON=$(PYTHON) .ci/programs

check: $(READY)
	$(VENV)/bin/ruff check src tests benchmarks
	$(VENV)/bin/ruff format --check src tests benchmarks
	$(VENV)/bin/mypy

bench: $(READY)
	$(UV) sync --frozen --quiet --group bench
	$(VENV)/bin/python -m benchmarks

docs: $(READY)
	$(VENV)/bin/python docs/generate.py

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Locked dependencies in a virtual environment of our own; nothing else is relied on.
$(READY): pyproject.toml uv.lock
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) sync --frozen --quiet
	@touch $(READY)
