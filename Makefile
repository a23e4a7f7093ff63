# Everything runs in .venv, which is made on first use. PYTHON picks the interpreter (3.11 or later).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all bench lint docs clean

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("kibitz needs Python 3.11 or later: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

demo: $(VENV)/.core
	$(BIN)/kibitz demo

lint: $(VENV)/.test
	$(BIN)/ruff check kibitz tests bench
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: lint
	$(BIN)/python -m pytest -n 2

docs: $(VENV)/.test
	$(BIN)/python -m kibitz.report.docs

# The peers that are installed are measured side by side; the others are named as skipped.
bench: $(VENV)/.test
	$(BIN)/kibitz bench --json docs/results.json --markdown docs/results.md

clean:
	rm -rf $(VENV) build dist *.egg-info
