# Everything is made from the locked requirements; python3 and make are enough.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
export UV_PYTHON_DOWNLOADS := never

BIN := .venv/bin
UV := $(BIN)/uv pip
TESTS ?= tests
WORKERS ?= $(shell nproc)

.PHONY: help setup demo test check lint format types imports bench soak measure-lost-charge model mutants any-order sim-long planted docs lock clean

help: ## Say what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: .venv/dev ## Make .venv with everything that development needs

.venv/uv: requirements-uv.lock
	python3 -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.venv/run: .venv/uv requirements.lock pyproject.toml
	$(UV) install --quiet --require-hashes -r requirements.lock
	$(UV) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev: .venv/run requirements-dev.lock
	$(UV) install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

demo: .venv/run ## Kill workers while they charge, then audit from Stripe's side (MODE=direct or adr, ARGS="--seed 7")
	@$(BIN)/anchorhold demo $(if $(MODE),--mode $(MODE)) $(ARGS)

test: .venv/dev ## Run every test (TESTS=tests/engine for one room)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(TESTS)
	@[ "$(TESTS)" != tests ] || echo "Proved on a real PostgreSQL: killed at every boundary of a charge, each invoice is paid at most once and no payment is lost."

check: lint types imports test ## All that a change has to pass

lint: .venv/dev ## Check style and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: .venv/dev ## Format, and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: .venv/dev ## Check types, strictly
	$(BIN)/pyrefly check

imports: .venv/dev ## Check that data flows one way through the rooms
	$(BIN)/lint-imports

soak: .venv/dev ## Charge 10,000 invoices while everything around them breaks (ARGS="--seed 7")
	@$(BIN)/python -m tests.soak $(ARGS)

bench: .venv/dev ## Measure the charge path beside pgbench; writes bench/RESULTS.md
	$(BIN)/anchorhold bench --write bench/RESULTS.md $(ARGS)

measure-lost-charge: .venv/dev ## Kill a worker in mid-charge and wait until all is settled, at default times (6 minutes)
	$(BIN)/python bench/lost_charge.py --write docs/proof/lost-charge.md

sim-long: .venv/dev ## Play new simulated worlds for an hour and keep what came of them (MINUTES= SEEDS= MODE=direct)
	nice -n 19 $(BIN)/anchorhold sim run --seeds $(or $(SEEDS),100000000) --minutes $(or $(MINUTES),60) --mode $(or $(MODE),all) --keep docs/proof/worlds.jsonl
	$(BIN)/python docs/generate.py

any-order: .venv/dev ## Tell each flow's news of Stripe's in ORDERS=60 orders with repeats and losses: 1,020 tellings
	ANCHORHOLD_TEST_ORDERS=$(or $(ORDERS),60) $(BIN)/python -m pytest -n $(WORKERS) -q tests/engine/test_any_order.py

planted: .venv/dev ## Plant one bug after the other and write after how many worlds each is found
	$(BIN)/anchorhold sim planted --write docs/proof/planted-bugs.md

model: .venv/dev ## Search every state of the models, the long searches too (MODES=direct; minutes)
	for mode in $(or $(MODES),prepared direct adr); do $(BIN)/python -m anchorhold.sim.model --mode $$mode --long --minutes 10 || exit 1; done

mutants: .venv/dev ## Make the code wrong in one place at a time (ROOM=domain, store or sql; NAMES=…; minutes)
	nice -n 19 $(BIN)/python -m tests.mutants$(if $(filter sql,$(ROOM)),.sql, $(or $(ROOM),domain)) $(NAMES)

docs: .venv/dev ## Write the pages that are generated from the code
	$(BIN)/python docs/generate.py

lock: .venv/uv ## Lock the newest versions that pyproject.toml allows, by hash, without addresses
	$(UV) compile --quiet --upgrade --universal --generate-hashes --no-annotate --no-header \
		--python-version 3.11 pyproject.toml -o requirements.lock
	$(UV) compile --quiet --upgrade --universal --generate-hashes --no-annotate --no-header \
		--python-version 3.11 --constraint requirements.lock --group dev pyproject.toml \
		-o requirements-dev.lock

clean: ## Remove what was made
	rm -rf .venv dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
