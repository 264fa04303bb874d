PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
DEMO := $(VENV)/.runnable
IMPORTERS := .venv-importers
PACKAGING := .venv-packages
PEERS := .venv-peers
SBOM ?= dist/sbom.json
SBOM_OF ?= dist/installed/bin/python
AUDITORS := tests/site/browser/node_modules

.DEFAULT_GOAL := help
.PHONY: help demo test hostile browsers importers packages sbom lint format messages cli-docs docs sample first-hour screens screenshots peers bench bench-check torture clean

help: ## show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# Debian splits venv off from Python; without it, virtualenv from pip does the same.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m pip install --user --quiet virtualenv && $(PYTHON) -m virtualenv --quiet $(VENV); }

$(DEMO): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable .
	@touch $@

$(SETUP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[all,dev]'
	@touch $(DEMO) $@

demo: $(DEMO) ## back up a made-up blog on this machine, twice, verify it, and say what to look at
	$(BIN)/blog-exporter demo demo-archive

# Hundreds of processes import the program: without compiled files each of them would compile it first.
test: $(SETUP) ## run all tests, and fail under 95 % branch coverage
	$(BIN)/python -m coverage erase
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report= -m "not slow and not browser and not importers and not packages and not hostile and not bench"

hostile: $(SETUP) ## run attacks by the hundred: hostile archives and bodies, options, kills, power cuts
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal -m "hostile and not slow" tests

browsers: $(SETUP) $(AUDITORS)/.installed ## run the tests that open the offline site in real browsers; .ci/install gets these
	$(BIN)/python -m pytest -n 2 -m "browser and not slow" tests/site tests/login tests/docs

$(AUDITORS)/.installed: $(addprefix tests/site/browser/package,.json -lock.json)
	npm ci --prefix $(dir $<) --ignore-scripts --no-audit --no-fund
	@touch $@

importers: $(SETUP) $(IMPORTERS)/.installed ## run the tests that feed the exports to real importers; .ci/install gets these
	$(BIN)/python -m pytest -m "importers and not slow" tests/importers tests/benchmarks tests/cli/test_cron.py tests/schedule tests/copies

$(IMPORTERS)/.installed: $(addprefix tests/importers/,install.sh requirements.txt package.json)
	PYTHON=$(PYTHON) tests/importers/install.sh $(abspath $(IMPORTERS))
	@touch $@

packages: $(SETUP) $(PACKAGING)/.installed ## build wheel and sdist, install them with pip, pipx and uv, and try them
	$(BIN)/python -m pytest -m packages tests/packaging

$(PACKAGING)/.installed: tests/packaging/requirements.txt
	$(PYTHON) -m venv $(PACKAGING) || $(PYTHON) -m virtualenv --quiet $(PACKAGING)
	$(PACKAGING)/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@

sbom: $(SETUP) ## write the bill of materials of a plain installation, dist/sbom.json (CycloneDX)
	mkdir -p dist
	test -x "$(SBOM_OF)" || { $(PYTHON) -m venv dist/installed && "$(SBOM_OF)" -m pip install -qq --disable-pip-version-check .; }
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON -o "$(SBOM)" "$(SBOM_OF)"

lint: $(SETUP) ## check format, style, types, and that nothing is unused
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/vulture

format: $(SETUP) ## write the code in its form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

messages: $(SETUP) ## collect the sentences for people into exporter/locale/, and compile the translations
	$(BIN)/python -m tests.translation.catalogue

sample: $(SETUP) ## make sample_output/ again
	rm -rf sample_output
	$(BIN)/blog-exporter demo sample_output --fixed-clock --quiet
	rm -rf sample_output/.work

first-hour: $(SETUP) ## record what init says, as docs/first-hour.en.svg and .ja.svg
	$(BIN)/python -m tests.support.first_hour

screens: $(SETUP) ## write docs/screens.md and docs/screens.ja.md, what every command shows, again
	$(BIN)/python -m tests.support.screens

docs: $(SETUP) ## build the pages of docs/ in English and Japanese into build/docs/; a broken link ends it
	$(BIN)/python docs/build.py

cli-docs: $(SETUP) ## write docs/cli.md, docs/cli.ja.md and the man page again
	$(BIN)/python docs/reference.py

screenshots: $(SETUP) ## draw docs/screenshots/ again
	$(BIN)/python docs/screenshots.py

peers: $(PEERS)/.installed ## install what PyPI and npm have to be measured against, which make bench leaves out otherwise

$(PEERS)/.installed: $(addprefix benchmarks/peers/,requirements.txt package.json)
	$(PYTHON) -m venv $(PEERS) || $(PYTHON) -m virtualenv --quiet $(PEERS)
	$(PEERS)/bin/python -m pip install -qq --disable-pip-version-check -r benchmarks/peers/requirements.txt
	npm install --prefix benchmarks/peers --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

bench: $(SETUP) ## measure speed and memory against other ways to do the same, and write benchmarks/results.md
	$(BIN)/python -m benchmarks

bench-check: $(SETUP) ## try the benchmarks, and fail where a ratio is a quarter above the one in benchmarks/results.md
	$(BIN)/python -m pytest -n auto -m "bench and not importers" tests/benchmarks
	$(BIN)/python -m benchmarks --check

torture: $(SETUP) ## the long form of fault injection: kills of backups, fleets and copies, and a fleet of 2,000 blogs
	$(BIN)/python -m pytest -m slow tests/torture tests/fleet tests/copies -s

clean: ## remove what was made here
	rm -rf $(VENV) $(IMPORTERS) $(PACKAGING) $(PEERS) benchmarks/peers/node_modules $(AUDITORS) demo-archive .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* dist
