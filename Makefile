# Stratagraph. `make help` lists what there is.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help install run test soak check lint format lock schema bench clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Stratagraph needs Python 3.11 or newer; this is %s. Name one with: make PYTHON=/path/to/python3.12" % sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

install: $(VENV)/.installed  ## make .venv with everything in it

run: install  ## the service, with its own Postgres, on 127.0.0.1:8000
	@exec $(BIN)/stratagraph serve

check: install  ## formatting, lint, types, arrows, layout: seconds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/unit/test_layout.py

test: check  ## check, then the whole suite on real Postgres and real Neo4j
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadgroup

soak: install  ## the long tests: other Neo4j lines, restores, Browser, 10,000 steps of random histories, 100 rounds of kills
	$(BIN)/pytest -m soak --ignore=tests/acceptance/test_faults.py
	$(BIN)/pytest -s -m "soak or not soak" --hypothesis-profile=soak tests/integration/memory/test_histories.py tests/acceptance/test_faults.py

format: install  ## let ruff format and mend what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schema: install  ## write schema.graphql anew
	$(BIN)/stratagraph schema > schema.graphql

bench: install  ## every benchmark, one JSON document each
	@for b in benchmarks/bench_*.py; do $(BIN)/python $$b || exit 1; done

lock: install  ## pin what pyproject.toml asks for, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header --output-file requirements.lock pyproject.toml

clean:  ## remove the environment and caches; data stays
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
