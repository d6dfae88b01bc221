# `make certify` and `make test` set up everything they need; `make help` lists the rest.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 3 # each imports everything and starts a Prefect server; two cores have enough to do
PARALLEL = --numprocesses $(WORKERS) --no-loadscope-reorder
NEW_EXAMPLES := --hypothesis-profile=new
test test-slow test-long: export SDCERT_COMPILED ?= $(CURDIR)/.pytest_cache/compiled
unexport PYTHONDONTWRITEBYTECODE # each worker and each child process would compile every module anew
RELEASE ?= params/releases/anes96.yaml
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c "$(SUPPORTED)" 2>/dev/null && echo "$$p" && break; done)

.PHONY: help setup certify test test-slow test-long test-all lint lint-quick audit format notebooks schema lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY)  ## make .venv from requirements.lock and install this checkout in it

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11, 3.12 or 3.13 found; install one, or say make PYTHON=/path/to/python"; exit 2; }
	@echo "installing what requirements.lock names in $(VENV): 1.6 GB, some minutes without a word"
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes -r requirements.lock
	PYTHONWARNINGS="ignore:Editable installation" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip check --disable-pip-version-check
	@touch $(READY)

certify: $(READY)  ## certify the release of RELEASE=... (default: the shipped ANES 1996)
	$(BIN)/sdcert certify $(RELEASE)

test: $(READY)  ## run the linters and the tests; the same result everywhere
	$(MAKE) --no-print-directory lint-quick
	@said=$$(mktemp); $(BIN)/mypy >"$$said" 2>&1 & types=$$!; trap 'kill $$types; exit 130' INT TERM; \
	$(BIN)/pytest -m "not slow and not long" $(PARALLEL); tests=$$?; \
	wait $$types; types=$$?; echo "mypy: $$(cat "$$said")"; rm -f "$$said"; exit $$((tests ? tests : types))

test-slow: WORKERS = 4# of its tests some wait for a server's clock
test-slow: $(READY)  ## run the laws and oracles that take longer, with newly drawn examples
	$(BIN)/pytest -m "slow and not long" $(NEW_EXAMPLES) $(PARALLEL)

test-long: $(READY)  ## run the longest laws, and every property test with newly drawn examples
	$(BIN)/pytest -m "long or (hypothesis and not slow)" $(NEW_EXAMPLES) $(PARALLEL)

test-all:  ## run all tiers: a night's work
	$(MAKE) --keep-going --no-print-directory test test-slow test-long

lint: $(READY) lint-quick  ## ruff, import-linter, mypy --strict
	$(BIN)/mypy

lint-quick: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

audit: $(READY)  ## known vulnerabilities of what requirements.lock pins; fails too where that cannot be looked up
	@$(BIN)/python .ci/advisories.py

format: $(READY)  ## let ruff format and mend what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

notebooks: $(READY)  ## run docs/notebooks anew and store what their cells show
	$(BIN)/python .ci/notebooks.py

schema: $(READY)  ## write params/schema/ anew from the models
	$(BIN)/python -m flows.schemas

lock: $(READY)  ## resolve requirements.lock anew (needs uv)
	uv pip compile --universal --python-version 3.11 --extra dev --generate-hashes --no-emit-index-url \
		--no-emit-find-links --custom-compile-command "make lock" pyproject.toml -o requirements.lock

clean:  ## remove the virtual environment and the tools' caches; releases and .sdcert stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
