# One target per task, for developers and for CI. Each target sets up .venv first if needed.

.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-peers bench-engines faults fuzz lowest soak compare-memory frameworks docs site package clean deployment \
  e2e gates hosts-latest record-hosts conformance inspector recorder scenarios delegation ui-test ui-pictures

PYTHON := .venv/bin/python
STAMP := .venv/.installed
PEERS := .cache/peers
LOWEST := .cache/lowest
ENGINES := .cache/engines

# The stamp holds the checksum of pyproject.toml and the folder: touching the file reinstalls nothing,
# and a tree that was copied together with its .venv sets up a new one.
WANTED := $(CURDIR) $(shell cksum < pyproject.toml)
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(WANTED))
.PHONY: $(STAMP)
endif

# The tests start thousands of processes: without compiled modules each of them compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

help:
	@echo "make demo    show a complete example; needs no network and no API key"
	@echo "make test    run the tests"
	@echo "make check   lint, formatting, types, vocabulary and the layers of the architecture"
	@echo "make bench   run the benchmarks"
	@echo "make bench-peers  compare with other libraries, in a separate environment (.cache/peers)"
	@echo "make bench-engines  kill runs and workflows of DBOS in the same way and compare, in .cache/engines"
	@echo "make e2e     run the real clients with a scripted model; installs them into .cache first"
	@echo "make hosts-latest  run the newest published clients, and write which scene holds in which version"
	@echo "make record-hosts  record the transcripts of tests/cases again, with the real clients"
	@echo "make conformance  run the official MCP conformance suite against the server; npm installs it into .cache"
	@echo "make inspector  use the server with the MCP Inspector over every transport; npm installs it into .cache"
	@echo "make gates   run the recipes of docs/gates.md with git and OpenSpec; npm installs it into .cache"
	@echo "make faults  kill writers, fill disks, overload the database; 15 minutes"
	@echo "make lowest  run the tests with the lowest versions allowed by pyproject.toml; installs them into .cache"
	@echo "make soak    run hostile and normal clients together against one server; 15 minutes"
	@echo "make scenarios  play two whole projects over each transport and database, and with a server killed in each step"
	@echo "make recorder  record runs in every state of a repository, a command and a record; two minutes"
	@echo "make ui-test  use the workbench in Chromium: scenes of people, accessibility; npm installs axe-core into .cache"
	@echo "make ui-pictures  take the pictures of the pages of the workbench again"
	@echo "make delegation  kill the runners of delegation graphs at every statement and in mid-flight, on both databases"
	@echo "make fuzz    validate a million randomly changed replies, for at most 20 minutes"
	@echo "make compare-memory  compare how many acknowledged saves survive, here and in the reference memory server"
	@echo "make frameworks  test the adapters with the real agent frameworks; installs 2 GB the first time"
	@echo "make docs    regenerate the generated pages of docs/, the plugin's commands and the corpus of goop_mcp/testing"
	@echo "make site    build docs/ as a site in build/site that works offline; every warning is an error"
	@echo "make package  build wheel, sdist and bundle, and test them on every Python of this machine; needs a package index"
	@echo "make deployment  lint workflows and scripts; try the action, the hook and the container; needs npm and a package index"
	@echo "make clean   remove caches and built files (.venv stays; delete it to start over)"

demo: $(STAMP)
	@.venv/bin/goop-mcp demo

# Three processes for two cores (tests/conftest.py); worksteal keeps the tests of a file together as long as all processes are busy.
# -rs lists the skipped tests with their reasons. Arguments: make test TESTS="tests/cli -k repair"
test: $(STAMP)
	$(PYTHON) -m pytest -q -rs --numprocesses auto --maxprocesses 8 --dist worksteal $(TESTS)

check: $(STAMP)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	.venv/bin/lint-imports --no-logo
	$(PYTHON) -m tests.vocabulary

bench: $(STAMP)
	$(PYTHON) -m benchmarks

# The peers need conflicting versions, hence a separate environment. They are installed again only when
# the pins have changed or one of them could not be installed: the others are measured all the same,
# and the target fails.
bench-peers: $(STAMP)
	@set -e; wanted="$(WANTED) $$(cksum < benchmarks/peers/requirements.txt)"; \
	if [ "$$(cat $(PEERS)/.installed 2>/dev/null)" != "$$wanted" ]; then \
	  echo "Installing the peers into $(PEERS) (only when the pins have changed) ..."; \
	  $(PYTHON) -m venv --clear $(PEERS); \
	  install="$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check"; \
	  $$install --editable . --requirement benchmarks/peers/requirements.txt || { \
	    echo "They cannot be installed together; installing one after the other."; \
	    $$install --editable .; \
	    for peer in $$(grep -v '^#' benchmarks/peers/requirements.txt); do \
	      $$install "$$peer" || wanted="not $$peer"; \
	    done; \
	  }; \
	  echo "$$wanted" > $(PEERS)/.installed; \
	fi
	$(PEERS)/bin/python -m benchmarks.peers

# Arguments: make bench-engines RUNS=20
bench-engines: $(STAMP)
	@set -e; wanted="$(WANTED) $$(cksum < benchmarks/engines/requirements.txt)"; \
	if [ "$$(cat $(ENGINES)/.installed 2>/dev/null)" != "$$wanted" ]; then \
	  echo "Installing the engines into $(ENGINES) (only when the pins have changed) ..."; \
	  $(PYTHON) -m venv --clear $(ENGINES); \
	  $(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check \
	    --editable '.[postgres]' --requirement benchmarks/engines/requirements.txt; \
	  echo "$$wanted" > $(ENGINES)/.installed; \
	fi
	$(ENGINES)/bin/python -m benchmarks.engines $(RUNS)

# Arguments: make e2e E2E="-k stubborn"
e2e: $(STAMP)
	$(PYTHON) -m tests.e2e $(E2E)

# The newest published versions; writes docs/hosts/tested.md. Arguments: make hosts-latest E2E="-k honest"
hosts-latest: $(STAMP)
	$(PYTHON) -m tests.e2e.latest $(E2E)

# Arguments: make record-hosts SCENES="claude-code/resumed stale"
record-hosts: $(STAMP)
	$(PYTHON) -m tests.e2e.recording $(SCENES)

# Needs npm, like the next target, and fails without it: nothing would have been tested.
conformance: $(STAMP)
	$(PYTHON) -m tests.conformance

inspector: $(STAMP)
	$(PYTHON) -m tests.inspector

gates: $(STAMP)
	$(PYTHON) -m tests.gates

# Arguments: make faults FAULTS="--kills 5000 --seed 7"
faults: $(STAMP)
	$(PYTHON) -m tests.store.fault_injection $(FAULTS)

# pip always installs the newest versions; uv can resolve to the lowest allowed ones and is installed by pip.
# Arguments: make lowest TESTS="tests/server -k http"
lowest: $(STAMP)
	@set -e; wanted="$(WANTED)"; \
	if [ "$$(cat $(LOWEST)/.installed 2>/dev/null)" != "$$wanted" ]; then \
	  echo "Installing the lowest versions into $(LOWEST) (only when pyproject.toml has changed) ..."; \
	  $(PYTHON) -m venv --clear $(LOWEST); \
	  $(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv; \
	  $(LOWEST)/bin/python -m uv pip install --quiet --python $(LOWEST)/bin/python \
	    --resolution lowest-direct --editable '.[dev]'; \
	  echo "$$wanted" > $(LOWEST)/.installed; \
	fi
	$(LOWEST)/bin/python -m pytest -q -rs --numprocesses auto --maxprocesses 8 --dist worksteal $(TESTS)

# Arguments: make soak SOAK="--minutes 2"
soak: $(STAMP)
	$(PYTHON) -m tests.soak $(SOAK)

# Arguments: make scenarios SCENARIOS="-k terminal"
scenarios: $(STAMP)
	$(PYTHON) -m pytest -q -rs -m scenarios --numprocesses 2 tests/scenarios $(SCENARIOS)

# Arguments: make recorder RECORDER="-k forged"
recorder: $(STAMP)
	$(PYTHON) -m pytest -q -rs -m recorder --numprocesses 2 tests/recording $(RECORDER)

# Needs Chromium and npm, and fails without them: nothing would have been tested.
# Arguments: make ui-test UI="-k keyboard"
ui-test: $(STAMP)
	$(PYTHON) -m pytest -q -rs tests/ui $(UI)

ui-pictures: $(STAMP)
	$(PYTHON) -m tests.ui.pictures

# Arguments: make delegation DELEGATION="-k killed"
delegation: $(STAMP)
	$(PYTHON) -m pytest -q -rs -m "delegation or not delegation" tests/delegation $(DELEGATION)

# Arguments: make fuzz FUZZ="--inputs 1000000 --seconds 1200 --seed 2"
fuzz: $(STAMP)
	$(PYTHON) -m tests.fuzz $(FUZZ)

# Needs Node.js; npm installs the reference server into .cache the first time.
compare-memory: $(STAMP)
	$(PYTHON) -m tests.reliability.compare

# Arguments: make frameworks FRAMEWORKS="langchain crewai"
frameworks: $(STAMP)
	$(PYTHON) -m tests.frameworks $(FRAMEWORKS)

# Each page is written to a temporary name first, so that an error leaves the old page unchanged.
docs: $(STAMP)
	PYTHONUTF8=1 $(PYTHON) -m goop_mcp.services.rule_pages > docs/rules.md.new
	PYTHONUTF8=1 $(PYTHON) -m tests.documentation.routing_page > docs/routing.md.new
	PYTHONUTF8=1 $(PYTHON) -m tests.documentation.workflow_page > docs/workflow.md.new
	PYTHONUTF8=1 $(PYTHON) -m tests.documentation.visual_style_page > docs/protocols/visual_style.md.new
	PYTHONUTF8=1 $(PYTHON) -m tests.requirements page > docs/requirements.md.new
	$(PYTHON) -m goop_mcp.services.commands packaging/plugins/claude-code/goop-mcp/commands
	$(PYTHON) -m goop_mcp.testing.writing goop_report > docs/goop_report.jsonl.new
	$(PYTHON) -m goop_mcp.testing.writing factory > docs/factory.jsonl.new
	for family in goop_report factory; do mv docs/$$family.jsonl.new goop_mcp/testing/corpus/$$family.jsonl; done
	for page in rules routing workflow requirements protocols/visual_style; do mv docs/$$page.md.new docs/$$page.md; done
	$(PYTHON) -m tests.documentation.doors
	$(PYTHON) -m tests.documentation.pictures

site: $(STAMP)
	$(PYTHON) -m sphinx -q -n -W --keep-going -b html -d build/site.cache docs build/site
	@echo "The site is build/site/index.html"

# Arguments: make package PACKAGE="/usr/bin/python3.12 /opt/python3.14/bin/python3.14"
package: $(STAMP)
	$(PYTHON) -m tests.packaging $(PACKAGE)

# What runs elsewhere is linted: workflows and the service; the rest is tried: action, pre-commit hook, container.
deployment: $(STAMP)
	$(PYTHON) -m tests.deployment

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage htmlcov
	find . -path ./.venv -prune -o -path ./.git -prune -o -name __pycache__ -type d -exec rm -rf {} +

# Each candidate is started, not only looked up: version managers put commands on the path that fail.
$(STAMP):
	@set -e; \
	if ! $(PYTHON) -m pip --version >/dev/null 2>&1 || { [ -f $(STAMP) ] && ! grep -qF "$(CURDIR) " $(STAMP); }; then \
	  for name in python3 python3.13 python3.12 python3.11; do \
	    if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$name; break; fi; \
	  done; \
	  if [ -z "$${found:-}" ]; then \
	    echo "goop-mcp needs Python 3.11 or newer; none of python3, python3.13, python3.12, python3.11 is." >&2; \
	    echo "Install one, for example: apt install python3.11 python3.11-venv, or brew install python@3.12." >&2; \
	    exit 1; \
	  fi; \
	  if ! "$$found" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	    version=$$("$$found" -c 'import sys; print("python%d.%d" % sys.version_info[:2])'); \
	    echo "$$found cannot make a virtual environment: its modules venv and ensurepip are missing." >&2; \
	    echo "On Debian and Ubuntu: apt install $$version-venv (or python3-venv), then run make again." >&2; \
	    exit 1; \
	  fi; \
	  echo "Setting up .venv with $$("$$found" --version) (only the first time) ..."; \
	  "$$found" -m venv --clear .venv; \
	fi; \
	echo "Installing goop-mcp and its tools into .venv (only when pyproject.toml has changed) ..."; \
	rm -f $(STAMP); \
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; \
	printf '%s\n' "$(WANTED)" > $(STAMP)
