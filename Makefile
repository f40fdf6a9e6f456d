# `make` alone prints the words below.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Each update of an engine test starts Python several times: without compiled files, all modules are compiled each time.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(firstword $(foreach v,python3.13 python3.12 python3.11 python3,$(shell $(v) -c 'import sys, venv; (3,11) <= sys.version_info[:2] <= (3,13) and print("$(v)")' 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The part of the environment that builds programs: the first start installs the rest meanwhile.
BUILDER := $(VENV)/.builder
SANDBOX_STACK ?= sandbox-dev
# Generators of SDKs.
RELEASE_PROGRAMS := pulumi-sdks pulumi-sdks-java-dotnet
# Programs that only the tests need, in addition to those of the sandbox. `make engine` builds those of its tests.
TEST_PROGRAMS := pulumi-language-yaml nvidia-parsers kueue karpenter vcsim
NIGHTLY_PROGRAMS := helm promtool prometheus nfd-master $(RELEASE_PROGRAMS)

# Where it cannot be installed, tools/vulnerabilities.py says that Python's advisories were not asked.
INSTALL_PIP_AUDIT = [ -x $(VENV)-audit/bin/pip-audit ] || { $(PYTHON) -m venv $(VENV)-audit && $(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; } || true

# Each test is selected by one of these three (tests/unit/test_order_of_files.py).
UNIT_TESTS := not engine and not sandbox and not nightly and not chaos
ENGINE_TESTS := (engine or sandbox) and not nightly and not chaos
NIGHTLY_TESTS := nightly or chaos
# The tests of a file share what they compute: each file is run by one process. No test of tests/engine is one of these.
RUN_UNIT_TESTS := $(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder --ignore tests/engine
# Tests of one root, for a change of that root alone: those of the core are the rest.
VCENTER_TESTS := tests/vcenter
POLICY_TESTS := tests/policies tests/corpus
PLANNER_TESTS := tests/planner
CORE_TESTS := tests --ignore tests/planner --ignore tests/policies --ignore tests/corpus --ignore tests/vcenter
RUN_ENGINE_TESTS := $(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help install up programs down test nightly check lint types types-of-change unit test-core test-policies test-planner test-vcenter engine chaos bench generate catalogue docs lock vulnerabilities wheel release record-states format clean

help: ## Print these words
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --no-compile: Python compiles what it imports; to compile all of the clouds' SDKs takes longer than the rest.
# requirements/pip.txt: pip 23.2, which Python 3.11 brings, compares each file of an index with 900 tags: half of the time.
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

$(BUILDER): requirements/pip.txt requirements/programs.txt pyproject.toml sandbox/pyproject.toml sandbox/hatch_build.py
	@[ -n "$(PYTHON)" ] || { echo "make: Python 3.11, 3.12 or 3.13 is needed, and none is on PATH" >&2; exit 2; }
	@echo "==> Python environment in $(VENV) (about a minute the first time)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) --require-hashes -r requirements/pip.txt
	@$(PIP_INSTALL) --require-hashes -r requirements/programs.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation -e . -e sandbox
	@touch $@

$(STAMP): $(BUILDER) requirements/dev.txt
	@$(PIP_INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

install: ## Install the program without Pulumi in .venv-cli, in seconds: `.venv-cli/bin/gpufleet --help`
	@[ -n "$(PYTHON)" ] || { echo "make: Python 3.11, 3.12 or 3.13 is needed, and none is on PATH" >&2; exit 2; }
	@[ -x $(VENV)-cli/bin/python ] || $(PYTHON) -m venv $(VENV)-cli
	@$(VENV)-cli/bin/python -m pip install --quiet --disable-pip-version-check .
	@echo "installed: $(VENV)-cli/bin/gpufleet"

up: ## Bring up the sandbox: control plane, GPU fleet, workloads; ends with a table
	@$(MAKE) --silent --no-print-directory --jobs 2 $(STAMP) $(if $(wildcard $(STAMP)),,programs)
	@$(BIN)/gpufleet sandbox up --deploy $(SANDBOX_STACK)

programs: $(BUILDER)
	@echo "==> The fleet of the stack $(SANDBOX_STACK)"
	@$(BIN)/gpufleet explain stacks/Pulumi.$(SANDBOX_STACK).yaml
	@$(BIN)/gpufleet sandbox programs

down: $(STAMP) ## Stop every process of the sandbox and free its ports; data stays until `gpufleet sandbox reset`
	@$(BIN)/gpufleet sandbox down

check: lint types ## Format, lint, types, import order, lines by package, links of the documentation

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYTHONPATH=components:policies:planner:sandbox $(BIN)/lint-imports
	$(BIN)/python tools/ceilings.py
	$(BIN)/pytest -q tests/unit/test_docs_site.py

# One thread: two take half as much processor time again.
types: $(STAMP)
	$(BIN)/pyright

unit: $(STAMP) ## Tests that need no built program, in parallel
	$(RUN_UNIT_TESTS) -m "$(UNIT_TESTS)"

test-core: $(STAMP) ## Of these, the tests of the core
	$(RUN_UNIT_TESTS) -m "$(UNIT_TESTS)" $(CORE_TESTS)

test-policies: $(STAMP) ## Of these, the tests of policies/
	$(RUN_UNIT_TESTS) -m "$(UNIT_TESTS)" $(POLICY_TESTS)

test-planner: $(STAMP) ## Of these, the tests of planner/
	$(RUN_UNIT_TESTS) -m "$(UNIT_TESTS)" $(PLANNER_TESTS)

test-vcenter: $(STAMP) ## Of these, the tests of the vCenter provider
	$(RUN_UNIT_TESTS) -m "$(UNIT_TESTS)" $(VCENTER_TESTS)

engine: $(STAMP) ## Tests of every commit on the real engine, control plane and scheduler
	$(BIN)/gpufleet sandbox programs
	$(BIN)/gpufleet sandbox programs $$($(BIN)/python -m tests.engine.needed_programs $(TEST_PROGRAMS))
	$(RUN_ENGINE_TESTS) -m "$(ENGINE_TESTS)" tests/engine tests/wheel

types-of-change: $(STAMP)
	$(BIN)/python -m tests.changed_types

# Engine tests wait while unit tests compute, and two processes of each are enough for two cores. Where Make can (4.0),
# what each of the three says is printed when it ends.
test: lint ## Everything of a commit, as CI runs it: check, unit and engine tests, the built wheel
	@echo "==> Types, unit and engine tests at the same time"
	@$(MAKE) --no-print-directory --jobs 3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) types-of-change unit engine

nightly: types ## The other tests: test equipment, breadth, long campaigns that kill (hours)
	$(BIN)/gpufleet sandbox programs
	$(BIN)/gpufleet sandbox programs $(TEST_PROGRAMS) $(NIGHTLY_PROGRAMS)
	GPUFLEET_ALL_EXAMPLES=1 $(RUN_ENGINE_TESTS) -n 3 -m "$(NIGHTLY_TESTS)"
	GPUFLEET_ALL_EXAMPLES=1 $(RUN_UNIT_TESTS) -m "$(UNIT_TESTS)"

chaos: $(STAMP) ## Of these, the campaigns that kill engine and control plane in the middle of updates
	$(BIN)/gpufleet sandbox programs
	$(BIN)/gpufleet sandbox programs $(TEST_PROGRAMS)
	$(BIN)/pytest -q -m chaos tests/engine

bench: $(STAMP) ## Paired measurements; writes docs/benchmarks.md
	$(BIN)/python -m benchmarks

format: $(STAMP) ## Rewrite files in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: $(STAMP) ## Write again what is generated from the models: argument types, schemas, reference pages
	$(BIN)/python tests/unit/components/write_arguments.py
	GPUFLEET_WRITE_SCHEMA=1 $(BIN)/pytest -q tests/schema
	$(BIN)/gpufleet schema > docs/fleet-spec.md
	$(BIN)/gpufleet schema --for stack --format json > stacks/stack.schema.json
	PYTHONPATH=components:policies:planner:. $(BIN)/python -m tests.policies.write_examples
	PYTHONPATH=components:policies:planner:. $(BIN)/python -m tools.rule_pages
	PYTHONPATH=components:policies:planner:. $(BIN)/python -m tests.planner.sizing.measured_page
	UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/unit/render/test_platforms.py -k page_is_what

# FROM=FOLDER reads stored copies, OUT=FOLDER writes an overlay, SOURCES="a b" asks only these, OPTIONS="--region R"
# are further ones (python -m tools.catalogue --help); CRDS=DIR CHARTS=DIR writes the schemas again from definitions
# and values files, and shows what changed.
catalogue: $(STAMP) ## What the sources say beside the newest edition, and the rules of its rows (needs network)
	$(BIN)/pytest -q tests/data
	$(BIN)/python -m tools.catalogue $(if $(FROM),--from $(FROM)) $(if $(OUT),--out $(OUT)) \
	  $(foreach s,$(SOURCES),--source $(s)) $(OPTIONS)
	$(if $(CRDS),$(BIN)/python tools/schemas/generate.py --crds $(CRDS) --charts $(CHARTS))
	$(if $(CRDS),git --no-pager diff --stat -- components/gpufleet/catalogue/data)

vulnerabilities: $(STAMP) ## Before a release: known vulnerabilities of the locked packages and Go modules; says what it could not look at
	$(INSTALL_PIP_AUDIT)
	$(BIN)/python tools/vulnerabilities.py --pip-audit $(CURDIR)/$(VENV)-audit/bin/pip-audit

release: $(STAMP) ## Build and verify everything a release consists of into dist/ (needs network; docs/releasing.md)
	[ -x $(VENV)-release/bin/cyclonedx-py ] || $(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.txt
	mkdir -p build
	$(INSTALL_PIP_AUDIT)
	$(BIN)/python tools/vulnerabilities.py --release --pip-audit $(CURDIR)/$(VENV)-audit/bin/pip-audit
	$(BIN)/gpufleet sandbox programs pulumi $(RELEASE_PROGRAMS) --format json > build/programs.json
	$(BIN)/python -m release build/programs.json $(VENV)-release/bin

docs: ## Build the documentation as a site into dist/site, with every warning an error
	@[ -x .venv-docs/bin/mkdocs ] || $(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	.venv-docs/bin/python tools/site/stage.py build/site
	.venv-docs/bin/mkdocs build --strict --quiet --config-file build/site/mkdocs.yml --site-dir $(CURDIR)/dist/site

record-states: $(STAMP) ## Of a release: deploy each example and keep its state for the tests of later versions (NAME=0.1.0)
	@[ -n "$(NAME)" ] || { echo "make record-states: NAME=VERSION is needed" >&2; exit 2; }
	GPUFLEET_RECORD_STATES=$(NAME) $(BIN)/pytest -q tests/engine/test_recorded_state.py tests/engine/vsphere/test_recorded_state.py

wheel: $(STAMP) ## Build both wheels into dist/
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(BIN)/python -m build --wheel --no-isolation --outdir dist sandbox

lock: ## Write requirements/dev.txt again from both pyproject.toml, pip.txt, programs.txt and release.txt (needs uv)
	echo pip | uv pip compile - --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-header -o requirements/pip.txt
	echo cyclonedx-bom | uv pip compile - --universal --no-strip-extras --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header -o requirements/release.txt
	uv pip compile pyproject.toml sandbox/pyproject.toml --extra all --extra clouds --group dev \
	  --no-emit-package pulumi-gpufleet \
	  -c requirements/constraints.txt --universal --no-strip-extras --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header -o requirements/dev.txt
	printf '%s\n' cryptography editables filelock hatchling psutil | uv pip compile - pyproject.toml -c requirements/dev.txt \
	  --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --no-header \
	  -o requirements/programs.txt

clean: ## Remove what this Makefile made, except the program cache
	rm -rf $(VENV) $(VENV)-audit $(VENV)-cli $(VENV)-release .venv-docs dist build .pytest_cache .ruff_cache .hypothesis
