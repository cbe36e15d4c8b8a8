# Two commands get you going: make setup, make run. `make` lists the rest.
.PHONY: help setup run test test-fast test-image lint format clean
MAKEFLAGS += --no-print-directory
ARGS ?=
# Two at a time: a test is mostly one busy thread. By file, so that what a file's tests share is made once.
TOGETHER = -n 2 --dist loadfile

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-12s %s\n' "$$name" "$$text"; done

setup: ## make .venv for the stack that this host can run; nothing to do when nothing changed
	@tools/setup.sh

run: setup ## run the taxi example: from data to a served model (ARGS="--set train.epochs=3")
	@.venv/bin/headrace run data/taxi $(ARGS)

test: setup ## run all tests (ARGS="-k name")
	@.venv/bin/python -m pytest $(TOGETHER) $(ARGS)

test-fast: setup ## run the tests that take no more than a few seconds each
	@.venv/bin/python -m pytest -m "not slow" $(TOGETHER) $(ARGS)

test-image: setup ## run all tests on the current stack, in a Debian 13 root file system (older hosts, as root)
	@tools/image.sh test $(TOGETHER) $(ARGS)

lint: setup ## check format, style and types
	@.venv/bin/ruff format --check --quiet . || { echo "  fix: make format"; exit 1; }
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy
	@.venv/bin/python tools/config_reference.py --check

format: setup ## format the code and mend what ruff can mend
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format .

clean: ## remove what runs of the examples and the tools left (.venv stays)
	@for path in data/*/.headrace .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist; do \
		if [ -e "$$path" ]; then echo "removing $$path" && rm -rf "$$path"; fi; done
