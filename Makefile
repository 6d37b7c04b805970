# Everything a fresh machine needs is Python >= 3.11 and make: each target sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
RIVALS := $(VENV)/.rivals

.PHONY: help setup demo test check format bench docs web clean

help:
	@echo "make demo    the whole story of one robot, and its report"
	@echo "make test    all tests, README and examples included"
	@echo "make check   lint, format and types"
	@echo "make format  rewrite the sources as the linter wants them"
	@echo "make docs    draw the pictures, build the site (out/site) and run what the pages say"
	@echo "make web     build the script of HTML reports again (needs node and npm)"
	@echo "make bench   ratios against the peers, measured in one run"
	@echo "make clean   remove the environment and what was built"

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "zveno needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/zveno demo

test: setup
	$(BIN)/python -m pytest -n 2

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python tools/verify_types.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup
	$(BIN)/python docs/pictures/draw.py
	$(BIN)/python docs/pictures/draw_robot.py
	$(BIN)/python docs/pictures/draw_results.py
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --strict
	$(BIN)/python -m pytest tests/test_readme_and_docs.py

web:
	cd web && npm ci --silent && npm run --silent build

# A rival that cannot be installed here is a row that says so.
$(RIVALS): $(INSTALLED)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	touch $@

bench: $(RIVALS)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) out dist .pytest_cache .ruff_cache
