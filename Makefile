# SPDX-License-Identifier: GPL-2.0-or-later
# Each target sets up what it needs (.ci/setup says what it installs) and is quick when that is done.

.DEFAULT_GOAL := help
SHELL := /bin/bash

VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find analyzer/native plugins/native -type f -name '[!.]*')
SCRIPTS := $(shell grep -rlE '^\#!.*\bbash' .ci tests --include='*' --exclude-dir=__pycache__)
# Programs that tests read are written as people write, and need not have our format.
CXX_FILES := $(filter-out tests/find/%,$(shell find analyzer/native plugins/native plugins/benchmarks tests -path 'tests/*/sources' -prune -o \( -name '*.[ch]' -o -name '*.cc' \) -print))
DEMO_C := $(shell find analyzer/demo -name '*.[ch]' 2>/dev/null)
# Three on two CPUs: tests of machines wait for most of their time.
PYTEST_ARGS ?= -n 3 --dist loadgroup
# What the tests run with, and where: .ci/run names an environment that has the wheel, and a copy without the sources.
PYTEST ?= $(abspath $(BIN)/pytest)
CHECKOUT ?= .

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name words; do \
	    printf '  make %-11s %s\n' "$$name" "$$words"; done

.PHONY: demo
demo: $(VENV)/.ready-run ## Run the whole pipeline on the example program of the package
	@$(BIN)/linesmith demo
	@echo "the same step by step: docs/tutorial.md"

.PHONY: test
test: $(VENV)/.ready-dev native | real-parts ## Run the tests (minutes; real kernel parts are fetched once)
	ctest --test-dir build/sanitize --output-on-failure --parallel 2 --progress
	cd $(CHECKOUT) && $(PYTEST) $(PYTEST_ARGS) -m 'not study'

.PHONY: test-all
test-all: $(VENV)/.ready-dev native | real-parts ## Run the tests and the studies: samples, sweeps, whole tuning runs
	ctest --test-dir build/sanitize --output-on-failure --parallel 2 --progress
	cd $(CHECKOUT) && $(PYTEST) $(PYTEST_ARGS)

.PHONY: test-sample
test-sample: $(VENV)/.ready-dev | real-parts ## Run a few of the studies, drawn by SAMPLE_SEED
	cd $(CHECKOUT) && $(PYTEST) $(PYTEST_ARGS) -m study --sample 12

.PHONY: explore
explore: $(VENV)/.ready-dev ## Run the property tests with twenty times their examples (an hour)
	$(PYTEST) $(PYTEST_ARGS) --explore 20

.PHONY: lint
lint: $(VENV)/.ready-dev ## Check style, types, imports and scripts; changes nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	clang-format-19 --dry-run -Werror $(CXX_FILES) $(DEMO_C)
	shellcheck $(SCRIPTS)

.PHONY: format
format: $(VENV)/.ready-dev ## Rewrite Python and C++ sources in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	clang-format-19 -i $(CXX_FILES) $(DEMO_C)

.PHONY: docs
docs: $(VENV)/.ready-dev ## Build the documentation as a site (build/site)
	$(BIN)/mkdocs build --quiet --config-file .mkdocs.yml
	@echo 'open build/site/index.html; searching it takes a server: $(BIN)/python -m http.server --directory build/site'

.PHONY: bench
bench: $(VENV)/.ready-dev | real-parts ## Measure speed and memory against pahole on a real vmlinux
	$(BIN)/python tests/bench/layout_speed.py "$${XDG_CACHE_HOME:-$$HOME/.cache}"/linesmith-tests/vmlinux-*

.PHONY: e2e-kernel
e2e-kernel: $(VENV)/.ready-dev | real-parts ## Tune a small 6.1 kernel from its tree and a workload alone (up to 40 minutes)
	$(BIN)/python tests/e2e/kernel/whole_way.py

.PHONY: native
native: | packages-dev ## Build the C++ tests alone, with ASan and UBSan (build/sanitize)
	@cmake -S analyzer/native -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINESMITH_SANITIZE=ON -Wno-dev >/dev/null
	@cmake --build build/sanitize --target all_tests

.PHONY: hooks
hooks: $(VENV)/.ready-dev ## Run the lint gates before every commit of this clone
	$(BIN)/pre-commit install

.PHONY: clean
clean: ## Remove what the other targets made in this directory
	rm -rf build dist $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find analyzer tuner plugins patches tests -name __pycache__ -prune -exec rm -rf {} +

.PHONY: packages-run packages-dev real-parts
packages-run packages-dev: packages-%:
	@.ci/setup packages $*

real-parts: packages-dev
	@.ci/real-parts || { [[ $$CI != true ]] && echo '== going on: tests that need these parts are skipped'; }

$(VENV)/.ready-run $(VENV)/.ready-dev: $(VENV)/.ready-%: pyproject.toml .ci/constraints.txt $(NATIVE) | packages-%
	@.ci/setup environment $*
