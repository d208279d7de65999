# Two commands do all the set-up: `make demo` runs the main job on bundled data, `make test` passes the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip's own messages only when something goes wrong
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test lint docs notebooks matrix check-python clean

demo: $(VENV)/.demo
	$(BIN)/tracker demo

test: lint
	$(BIN)/python -m pytest -n auto --dist loadgroup -q -m "not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, offline: open build/site/index.html. A warning is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "wrote build/site/index.html"

# The tests on every Python that is installed and with the oldest versions declared; wheel and source distribution tried outside the clone.
matrix: $(VENV)/.dev
	$(BIN)/nox

notebooks: $(VENV)/.notebooks
	$(BIN)/python docs/maintenance/render_notebooks.py

$(VENV)/bin/python: | check-python
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: setup.cfg pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e ".[report]"
	@touch $@

$(VENV)/.dev: setup.cfg pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e ".[dev]"
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: setup.cfg pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e ".[docs]"
	@touch $@

$(VENV)/.notebooks: setup.cfg pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e ".[notebooks,report]"
	@touch $@

check-python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is %s; name another with PYTHON=..." % sys.version.split()[0])'

clean:
	rm -rf $(VENV) .nox runs build dist *.egg-info
