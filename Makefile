# Two commands do everything: `make demo` and `make test`. Each makes its own environment in .venv.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-deep lint types contracts docs bench bench-check paper scaling peers clean
# An environment that was left half made (no ensurepip, say) is made again the next time.
.DELETE_ON_ERROR:

help:  ## list what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=...")'
	$(PYTHON) -m venv .venv

.venv/core: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/dev: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: .venv/core  ## trim a classifier for heart disease to a budget, and write a page about the result
	@mkdir -p build
	@$(BIN)/bayestrim trim examples/data/heart.csv --learn --target num --positive 1,2,3,4 \
	    --costs examples/data/heart_costs.csv --budget 200 -o build/heart.json --report build/heart.html
	@$(BIN)/bayestrim predict build/heart.json examples/data/heart.csv -o build/heart_decisions.csv
	@echo "The result is in build/heart.json, a page about it in build/heart.html."

test: lint types contracts  ## check style, types and imports, then run all tests and the code in the docs
	$(BIN)/python -m pytest

test-deep: .venv/dev  ## run the tests that take long: fuzzing, more random cases, the largest networks
	$(BIN)/python -m pytest --hypothesis-profile=deep
	$(BIN)/python -m pytest tests/deep

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev
	$(BIN)/mypy

contracts: .venv/dev
	$(BIN)/lint-imports

docs: .venv/dev  ## build the documentation as a site in site/, without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: .venv/dev  ## print the figures that the documentation quotes
	$(BIN)/python -m benchmarks.reading --peers
	$(BIN)/python -m benchmarks.predicting
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.rules
	$(BIN)/python -m benchmarks.limits
	$(BIN)/python -m benchmarks.general
	$(BIN)/python -m benchmarks.networks

bench-check: .venv/dev  ## fail if searches do more work than benchmarks/baseline.json says, or take much longer
	$(BIN)/python -m benchmarks.check

# Other selectors and engines, for comparison only; they are not part of the development environment.
.venv/peers: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	@touch $@

paper: .venv/peers  ## repeat the paper's evaluation into benchmarks/results and docs/figures (some seven minutes)
	$(BIN)/python -m benchmarks.paper_runtime
	$(BIN)/python -m benchmarks.paper_threshold
	$(BIN)/python -m benchmarks.paper_accuracy
	$(BIN)/python -m benchmarks.paper_gain
	$(BIN)/python -m benchmarks.paper_roots
	$(BIN)/python -m benchmarks.paper_sampled

scaling: .venv/dev  ## see how searches grow with the problem (some fifteen minutes)
	$(BIN)/python -m benchmarks.scaling

peers: .venv/peers  ## run other ways to the same answer beside ours
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.circuits --quick

clean:  ## remove the environment and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist site
