# Everything runs in .venv, which is made on first use. PYTHON picks the interpreter (3.11 or later).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all quick bench peers lint docs release clean told

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
	$(BIN)/ruff check kibitz tests
	$(BIN)/mypy

told:
	@echo 'make test: linter, type checker and tests. It compiles the first time; then it is quicker.'

test: told lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --durations=10

test-all: lint
	KIBITZ_ALL_EXAMPLES=1 $(BIN)/python -m pytest -n 2 --dist loadfile --durations=10

# The tests that a change touches, the nearest first, for a minute: see tests/quick.py. QUICK="--since HEAD~3" and others.
quick: $(VENV)/.test
	$(BIN)/python tests/quick.py $(QUICK)

# The generated pages, then docs/ as a site with search in build/site. It reads nothing from the network but Sphinx, the
# first time; a warning is an error.
$(VENV)/.docs: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m kibitz.bench.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/site
	@echo 'The site is in build/site: open build/site/index.html.'

# The wheel and the source archive, built from committed files into dist/, then installed and tried: see CONTRIBUTING.md.
release: $(VENV)/.test
	$(BIN)/python tests/release.py

# The peers that are installed are measured side by side; the others are named as skipped. `make peers` puts all of
# them into .venv-peers: it compiles LiteEFG and Gambit (a C++ compiler, ten minutes), and NoRegret wants Python 3.12
# and brings a deep-learning stack unless told not to.
PEERS := .venv-peers
PYTHON312 ?= python3.12
bench: $(VENV)/.test
	$(BIN)/kibitz bench --out docs/results.json --markdown docs/results.md \
		$(if $(wildcard $(PEERS)/bin/python),--peers-python $(PEERS)/bin/python)

peers:
	test -x $(PEERS)/bin/python || $(PYTHON312) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet -U pip numpy scipy open_spiel cvxpy LiteEFG pygambit
	$(PEERS)/bin/python -m pip install --quiet --pre --no-deps noregret==0.0.0.dev17
	$(PEERS)/bin/python -m pip install --quiet gurobipy ordered-set orjson tqdm pokerkit
	$(PEERS)/bin/python -m pip install --quiet phevaluator treys future pyparsing 'cython<3.1' setuptools wheel
	$(PEERS)/bin/python -m pip install --quiet --no-build-isolation eval7

clean:
	rm -rf $(VENV) build dist *.egg-info
