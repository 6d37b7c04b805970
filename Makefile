# Everything a fresh machine needs is Python >= 3.11 and make: each target sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
INSTALLED := $(VENV)/.installed
RIVALS := $(VENV)/.rivals
PIP := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

.PHONY: help setup demo test laws attack check format bench corpus reproduce docs web clean

help:
	@echo "make demo    the whole story of one robot, and its report"
	@echo "make test    the tests of every change: a few minutes"
	@echo "make laws    the other cases of every law, and long tests"
	@echo "make attack  hostile files, real data, browser, long pages"
	@echo "make check   lint, format and types"
	@echo "make format  rewrite the sources as the linter wants them"
	@echo "make docs    draw the pictures, build the site (out/site) and run what the pages say"
	@echo "make web     build the script of HTML reports again (needs node and npm)"
	@echo "make bench   ratios against the peers, measured in one run"
	@echo "make corpus  compare the answers of the library with the frozen ones"
	@echo "make reproduce   numbers of the source documents, recomputed"
	@echo "make clean   remove the environment and what was built"

# Byte code is kept whatever the environment says: without it, every run compiles the whole suite again.
unexport PYTHONDONTWRITEBYTECODE

$(DEMO): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "zveno needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || { echo "making the environment $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing zveno and what its demo needs into $(VENV) (0.5 GB)"
	$(PIP) '.[demo]'
	@touch $@

$(INSTALLED): $(DEMO)
	@echo "installing every extra and the developers' tools into $(VENV) (2.7 GB)"
	$(PIP) '.[dev]'
	@touch $@

setup: $(INSTALLED)

demo: $(DEMO)
	$(BIN)/python examples/00_drawing_to_controller.py

test: setup
	$(PYTEST)

laws: setup
	$(PYTEST) --tier laws

attack: setup
	$(PYTEST) --tier attack

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
	$(BIN)/python -m reproduction 001 --figures docs/pictures
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --strict
	$(PYTEST) --tier all tests/test_readme_and_docs.py

web:
	cd web && npm ci --silent && npm run --silent build

# A rival that cannot be installed here is a row that says so.
$(RIVALS): $(INSTALLED)
	-$(PIP) '.[bench]'
	@touch $@

bench: $(RIVALS)
	$(BIN)/python -m benchmarks

reproduce: setup
	$(BIN)/python -m reproduction

corpus: setup
	$(BIN)/python -m corpus compare

clean:
	rm -rf $(VENV) out dist .cache .pytest_cache .ruff_cache
