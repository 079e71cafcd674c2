# `make demo` and `make test` set up everything they need in .venv; nothing else is assumed but Python 3.11+.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test coverage lint docs bench clean

help:
	@echo "make demo    the map of Europe from 2,000 noisy comparisons"
	@echo "make test    all tests"
	@echo "make coverage  all tests, with coverage"
	@echo "make lint    ruff and mypy"
	@echo "make docs    the documentation site, strict, into site/"
	@echo "make bench   the benchmarks, resumable (needs NEARER_DATA for the real data)"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) --editable ".[dev,torch]"
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --editable ".[docs]"
	touch $@

demo: $(VENV)/.core
	$(BIN)/nearer demo --out nearer-demo.html

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto

coverage: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks all

clean:
	rm -rf site build dist .pytest_cache .mypy_cache .ruff_cache .coverage
	find src tests benchmarks -name __pycache__ -type d -exec rm -rf {} +
