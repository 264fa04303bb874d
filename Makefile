PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
DEMO := $(VENV)/.runnable
IMPORTERS := .venv-importers
PACKAGING := .venv-packages
PEERS := .venv-peers
APP := .venv-app
SBOM ?= dist/sbom.json
SBOM_OF ?= dist/installed/bin/python
AUDITORS := tests/site/browser/node_modules
OTHER_LANES := hostile importers packaging site/browser window/browser
SOME := $(if $(CASES),--cases $(CASES))
# Collecting all 19,000 tests takes a minute of each worker.
IMPORTER_TESTS = tests/importers $(shell grep -rlF mark.importers tests --include='test_*.py')

# A person sees what is being installed; a log needs only errors.
PIP := pip install --disable-pip-version-check $(if $(CI),-qq)

.DEFAULT_GOAL := help
.PHONY: help demo test quick thorough browsers importers packages app sbom lint format generated messages cli-docs schemas targets docs sample first-hour screens picture screenshots peers bench bench-tests bench-check torture clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# Debian packages venv separately from Python. Without it, virtualenv from pip does the same.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m pip install --user --quiet virtualenv && $(PYTHON) -m virtualenv --quiet $(VENV); }

$(DEMO): pyproject.toml | $(BIN)/python
	$(BIN)/python -m $(PIP) --editable .
	@touch $@

$(SETUP): pyproject.toml | $(BIN)/python
	@echo "Installing the program and the tools of its tests into $(VENV)/, which takes two minutes."
	$(BIN)/python -m $(PIP) --editable '.[all,dev]'
	@touch $(DEMO) $@

demo: $(DEMO) ## back up a made-up blog twice, verify the archive, and list the results
	$(BIN)/blog-exporter demo demo-archive

# Processes import the program. Without compiled files each one would compile it first.
test: export PYTHONDONTWRITEBYTECODE =
test: $(SETUP) ## run the tests that need nothing but Python; COVERAGE=yes fails below 95 % branch coverage
	@echo "Collecting the tests, which takes some seconds."
	$(if $(COVERAGE),$(BIN)/python -m coverage erase)
	$(BIN)/python -m pytest -n auto --dist worksteal $(if $(COVERAGE),--cov --cov-report=) $(addprefix --ignore=tests/,$(OTHER_LANES))

quick: export PYTHONDONTWRITEBYTECODE =
quick: $(SETUP) ## run the tests of the rooms that changed since the last commit on main
	$(BIN)/python -m pytest -n auto --dist worksteal $$($(BIN)/python -m tests.support.changed)

thorough: export PYTHONDONTWRITEBYTECODE =
thorough: $(SETUP) ## run the long tests: attacks, kills, power cuts, damage, memory, all parameters; CASES=2 runs two cases of each
	$(BIN)/python -m pytest -n auto --dist worksteal --durations 25 $(SOME) -m "thorough and not slow" tests

browsers: $(SETUP) $(AUDITORS)/.installed ## run the tests with real browsers, which .ci/install installs
	$(BIN)/python -m pytest -n 2 --durations 25 $(SOME) -m "browser and not slow" tests/site tests/login tests/docs tests/window

$(AUDITORS)/.installed: $(addprefix tests/site/browser/,package.json package-lock.json install_replay.sh)
	npm ci --prefix $(dir $<) --ignore-scripts --no-audit --no-fund
	tests/site/browser/install_replay.sh $(abspath $(AUDITORS))
	@touch $@

importers: $(SETUP) $(IMPORTERS)/.installed ## run the tests with real importers, which .ci/install installs
	$(BIN)/python -m pytest -n auto --dist loadgroup --durations 25 $(SOME) -m "importers and not slow" $(IMPORTER_TESTS)

$(IMPORTERS)/.installed: $(addprefix tests/importers/,install.sh requirements.txt package.json)
	PYTHON=$(PYTHON) tests/importers/install.sh $(abspath $(IMPORTERS))
	@touch $@

packages: $(SETUP) $(PACKAGING)/.installed app ## build wheel, sdist and the folder with Python, and test them
	$(BIN)/python -m pytest -m packages tests/packaging

$(PACKAGING)/.installed: tests/packaging/requirements.txt
	$(PYTHON) -m venv $(PACKAGING) || $(PYTHON) -m virtualenv --quiet $(PACKAGING)
	$(PACKAGING)/bin/python -m $(PIP) -r $<
	@touch $@

app: $(APP)/.installed ## build dist/blog-exporter/, the program to double-click with its own Python
	$(APP)/bin/python -m PyInstaller --noconfirm --log-level=WARN --workpath $(APP)/work app/blog-exporter.spec

$(APP)/.installed: app/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(APP) || $(PYTHON) -m virtualenv --quiet $(APP)
	$(APP)/bin/python -m $(PIP) -r $< -e '.[age,capture,pages,site]'
	@touch $@

sbom: $(SETUP) ## write dist/sbom.json, the bill of materials of an installation (CycloneDX)
	mkdir -p dist
	test -x "$(SBOM_OF)" || { $(PYTHON) -m venv dist/installed && "$(SBOM_OF)" -m $(PIP) .; }
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON -o "$(SBOM)" "$(SBOM_OF)"

lint: $(SETUP) ## check format, style, types and unused code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/vulture

format: $(SETUP) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# In this order: pages show translated messages, and schemas come from the sample archive.
generated: messages sample schemas targets cli-docs first-hour screens picture ## write all generated files again; JA=FILE holds translations of new messages

messages: $(SETUP) ## update the message catalogues in exporter/locale/; JA=FILE holds new translations
	$(BIN)/python -m tests.translation.catalogue $(JA)

sample: $(SETUP) ## write sample_output/
	rm -rf sample_output
	$(BIN)/blog-exporter demo sample_output --fixed-clock --quiet
	rm -rf sample_output/.work

schemas: $(SETUP) ## write a JSON Schema for each new command
	$(BIN)/python -m tests.support.schemas

targets: $(SETUP) ## write the tables of docs/targets.md
	$(BIN)/python -m tests.export.targets_page

first-hour: $(SETUP) ## record the dialogue of init in docs/first-hour.en.svg and .ja.svg
	$(BIN)/python -m tests.support.first_hour

screens: $(SETUP) ## write docs/screens.md and docs/screens.ja.md, the output of every command
	$(BIN)/python -m tests.support.screens

picture: $(SETUP) ## draw docs/demo.svg, the output of the demo
	$(BIN)/python docs/picture.py

docs: $(SETUP) ## build docs/ in English and Japanese into build/docs/; fail on a broken link
	$(BIN)/python docs/build.py

cli-docs: $(SETUP) ## write docs/cli.md, docs/cli.ja.md and the man page
	$(BIN)/python docs/reference.py

screenshots: $(SETUP) ## draw docs/screenshots/
	$(BIN)/python docs/screenshots.py

peers: $(PEERS)/.installed ## install other tools from PyPI and npm for make bench to measure

$(PEERS)/.installed: $(addprefix benchmarks/peers/,requirements.txt package.json)
	$(PYTHON) -m venv $(PEERS) || $(PYTHON) -m virtualenv --quiet $(PEERS)
	$(PEERS)/bin/python -m $(PIP) -r benchmarks/peers/requirements.txt
	npm install --prefix benchmarks/peers --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

bench: $(SETUP) ## measure speed and memory, and write benchmarks/results.md
	$(BIN)/python -m benchmarks

bench-tests: $(SETUP) ## run the tests of the benchmarks themselves
	$(BIN)/python -m pytest -n auto $(SOME) -m "bench and not importers" tests/benchmarks

bench-check: $(SETUP) ## run short benchmarks; fail if a ratio is 25 % above benchmarks/results.md
	$(BIN)/python -m benchmarks --check

torture: $(SETUP) ## run the long fault-injection tests, and a fleet of 2,000 blogs
	$(BIN)/python -m pytest -m slow tests/torture tests/fleet tests/copies -s

clean: ## remove all build products
	rm -rf $(VENV) $(IMPORTERS) $(PACKAGING) $(PEERS) $(APP) benchmarks/peers/node_modules $(AUDITORS) demo-archive .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* dist
