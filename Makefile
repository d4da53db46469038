# Needs git, make and Python 3.11 or newer; everything else is installed into .venv.
# Another Python than the first on the path: make setup PYTHON=python3.12

SHELL := bash
PYTHON ?= python3
INSTALLED := .venv/.installed
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: setup repro check test bench

setup: $(INSTALLED)

repro: setup
	python -m pipeline.plan
	dvc repro
	python -m pipeline.results
	python -m pipeline.report

check: setup
	ruff format --check
	ruff check
	mypy
	lint-imports

test: check
	pytest -n logical --dist loadfile --no-loadscope-reorder

bench: setup
	python -m benchmarks

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: maskline needs Python 3.11 or newer: name one, as in make setup PYTHON=python3.12" >&2; exit 1; }
	@.venv/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	.venv/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[bench,dev,onnx,peft,report,search,serve]'
	@touch $@
