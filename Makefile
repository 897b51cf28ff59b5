# `make help` lists the targets.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Property tests that `make soak` runs with more examples
MANY_EXAMPLES := $(addprefix tests/integration/memory/test_,naming.py merge_histories.py git_imports.py grounding.py)
MANY_EXAMPLES += tests/integration/memory/test_import_contradictions.py
MANY_EXAMPLES += tests/integration/noninterference tests/unit
MANY_EXAMPLES += tests/integration/learning/test_duplicates.py
MANY_EXAMPLES += tests/integration/graph_sync/test_total_repair.py
MANY_EXAMPLES += $(addprefix tests/integration/graph_sync/test_,conformance.py explore_conformance.py)
MANY_EXAMPLES += tests/integration/memory/test_frozen_mirror.py
# What the TypeScript client is built of
TYPESCRIPT := $(wildcard clients/operations/*.graphql $(addprefix clients/typescript/,*.json *.mjs src/*.ts test/*.ts test/*.json))

# Some images set it; each process that a test starts would then compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run test soak check style types rules format lock schema clients client-tools pack bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements.lock pyproject.toml clients/python/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Stratagraph needs Python 3.11 or newer; this is %s. Name one with: make PYTHON=/path/to/python3.12" % sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e clients/python
	@touch $@

install: $(VENV)/.installed  ## create .venv with the package and the development tools

run: install  ## run the service with its own Postgres on 127.0.0.1:8000
	@exec $(BIN)/stratagraph serve

check: style types rules  ## check formatting, lint, types, imports between packages, layout, and that the schema breaks no client (about a minute; with -j2 half)

style: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

rules: install
	$(BIN)/lint-imports
	$(BIN)/pytest -q --noconftest tests/unit/test_layout.py
	$(BIN)/stratagraph schema --since releases --check

test: install  ## check, then run the test suite on a real Postgres and a real Neo4j
	@$(MAKE) --no-print-directory -j2 check client-tools
	@$(MAKE) --no-print-directory clients || echo "The tests of generated clients are left out; in CI they fail."
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadgroup

soak: install  ## run the long tests: newest Neo4j line, stories of hidden records, all Browser queries, 10,000 random steps, 100 random kills, 30 minutes of attackers
	$(BIN)/pytest -m soak --ignore=tests/acceptance/test_faults.py
	$(BIN)/pytest -s -m "soak or not soak" --hypothesis-profile=soak tests/integration/memory/test_histories.py tests/acceptance/test_faults.py
	$(BIN)/pytest --hypothesis-profile=soak $(MANY_EXAMPLES)

format: install  ## format the code, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schema: install  ## regenerate schema.graphql, and the page of its changes
	$(BIN)/stratagraph schema > schema.graphql
	$(BIN)/stratagraph schema --since releases > docs/schema-changes.md

clients/python/.venv/.installed: clients/python/requirements.lock
	$(PYTHON) -m venv clients/python/.venv
	clients/python/.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r clients/python/requirements.lock
	@touch $@

clients/typescript/node_modules/.installed: clients/typescript/package-lock.json
	@if node -e 'process.exit(Number(parseInt(process.versions.node) < 20))' 2>/dev/null; then \
	  cd clients/typescript && npm ci --no-audit --no-fund --loglevel=error && touch node_modules/.installed; \
	else echo "The TypeScript client is left out: it needs Node.js 20 or newer."; fi

clients/typescript/build/.built: clients/typescript/node_modules/.installed schema.graphql $(TYPESCRIPT)
	@test ! -e clients/typescript/node_modules/.installed || { \
	  npm run --silent --prefix clients/typescript build && npm run --silent --prefix clients/typescript build-tests && touch $@; }

# Reads no file that `check` writes, and writes none that it reads, as the sources that `clients` generates
client-tools:
	-@$(MAKE) --no-print-directory clients/python/.venv/.installed clients/typescript/build/.built

clients: clients/python/.venv/.installed clients/typescript/build/.built  ## build the clients: for Python, and for TypeScript where Node.js is
	clients/python/.venv/bin/python clients/python/generate.py

pack: install clients  ## write the packages of the service and of its clients into dist/
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist . ./clients/python
	@test ! -e clients/typescript/build/.built || npm pack --silent --ignore-scripts --pack-destination dist ./clients/typescript

bench: install  ## run all benchmarks; each prints one JSON document
	@for b in benchmarks/bench_*.py; do $(BIN)/python $$b || exit 1; done

lock: install  ## regenerate requirements.lock from pyproject.toml, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header --no-emit-package stratagraph-client --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header --output-file clients/python/requirements.lock clients/python/requirements.in

clean:  ## remove .venv and caches; keep .stratagraph
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
