# The README's two commands are `make demo` and `make test`; each makes the virtual environment it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

demo: $(VENV)/.user ## the whole path on an embedded model: no GPU, network or key
	$(BIN)/memoprobe demo

test: $(VENV)/.dev ## everything CI runs
	PATH="$(abspath $(BIN)):$$PATH" $(MAKE) --no-print-directory check

check: ## format, lint, import contracts, types, tests; fastest first (tools must be on PATH)
	ruff format --check . && ruff check . && lint-imports && mypy memoprobe
	pytest --numprocesses auto --dist worksteal --cov

fix: $(VENV)/.dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

docs: $(VENV)/.dev ## rewrite the generated pages
	$(BIN)/python -m tests.docs

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.user: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . --group dev
	touch $@ $(VENV)/.user

.PHONY: demo test check fix docs
