# Needs Python 3.11 or later, make and a package registry; nothing else. Everything lives in .venv, see CONTRIBUTING.md.
.DEFAULT_GOAL := help
.PHONY: help setup demo picture cast docs docs-reference test test-full bench bench-quick bench-pipeline profile lint format lock clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
SPARK := .venv/ready-for-spark
EXTRAS := .venv/ready-for-extras
BROKERS := .venv/ready-for-brokers
DOCS := .venv/ready-for-docs
CAPTURE ?= captures/mixed.pcapng
# One more than there are processors: many tests wait for a clock or another process.
JOBS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
# Tests that share something dear (a Spark session) stay together in one process.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup
# What Python compiles and pytest rewrites is stored, or each process of the tests does it anew (20 s of CPU each).
unexport PYTHONDONTWRITEBYTECODE

help:
	@echo "make demo         set up, then open a bundled capture (CAPTURE=FILE: another); without a terminal, list it"
	@echo "make test         set up, then all checks and the tests of every day (some 9 minutes on two processors)"
	@echo "make test-full    the long ones too"
	@echo "make bench        beside tshark, some half an hour; make bench-quick: some 5 minutes (KEEP=DIR keeps the captures)"
	@echo "make bench-pipeline   what Spark costs: some hour, 30 GB"
	@echo "make profile      where the time goes, by room"
	@echo "make lint         the checks alone; make format mends what can be mended"
	@echo "make picture      paint the picture in README.md anew"
	@echo "make cast         record the terminal UI for asciinema anew"
	@echo "make docs         build the site of docs/ into build/site"
	@echo "make docs-reference   write the pages of docs/reference that are made from the code"
	@echo "make lock         write requirements/*.lock anew (needs uv)"
	@echo "make clean        remove .venv and everything that was built"

setup: $(READY)

# The stamp is newer than the lock and the project file, or the set-up is done again.
$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "wireanalyze needs Python 3.11 or later: run make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "this Python has no ensurepip: install its venv package (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q analyzer dissectors tui wireanalyze
	@touch $@

# Spark is large, and needed by the tests of analyzer/pipeline alone.
$(SPARK): requirements/pipeline.lock | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/pipeline.lock
	@touch $@

# What the package wireanalyze makes tables for, and serves programs with.
$(EXTRAS): requirements/python.lock | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/python.lock
	@touch $@

# Clients that talk to real servers, in the tests of tests/brokers alone.
$(BROKERS): requirements/brokers.lock | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/brokers.lock
	@touch $@

# What builds the site of docs/.
$(DOCS): requirements/docs.lock | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.lock
	@touch $@

demo: $(READY)
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/wireanalyze open $(CAPTURE); \
	else $(BIN)/wireanalyze info $(CAPTURE) && $(BIN)/wireanalyze list $(CAPTURE); fi

# The picture in README.md, painted by the program itself.
picture: $(READY)
	$(BIN)/python -m tui.picture captures/mixed.pcapng docs/open.svg

# The same program in use, for `asciinema play docs/open.cast`.
cast: $(READY)
	$(BIN)/python -m docs.cast captures/zookeeper-ensemble.pcap.zst docs/open.cast

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --site-dir build/site

# Pages whose text stands in the code already: commands, fields, findings, configuration, keys.
docs-reference: $(READY)
	$(BIN)/python -m docs.generate

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# pytest last, so that its closing line is the last one. A loaded machine may break a test that waits for another process:
# such a test gets a second try, and is named at the end.
# Checks need one processor; on another one pytest meanwhile rewrites the tests, which its processes then find in its cache.
test: $(READY) $(SPARK) $(EXTRAS)
	@$(BIN)/python -m pytest -n 0 --collect-only -qq >/dev/null 2>&1 & \
		$(MAKE) --no-print-directory lint; checked=$$?; wait; exit $$checked
	$(PYTEST) --hypothesis-profile=test --reruns 1 -rR

# What a machine lacks for real servers (Java, Maven, tcpdump and the right to use it) is said beside the tests it skips.
test-full: lint $(SPARK) $(EXTRAS) $(BROKERS)
	$(PYTEST) --hypothesis-profile=full -m "not privileged" -rs

# Beside what is installed of tshark and termshark (Debian, Ubuntu: sudo apt-get install tshark termshark).
KEPT = $(if $(KEEP),--keep $(KEEP))

bench: $(READY)
	$(BIN)/python -m benchmarks $(KEPT) --page docs/benchmarks.md

# Spark over captures of up to 10 GB, which are made and taken away again: some hour, and 30 GB free where TMPDIR is.
bench-pipeline: $(READY) $(SPARK)
	$(BIN)/python -m benchmarks $(KEPT) --only pipeline --only pipeline-growth --only pipeline-connection --only pipeline-heap

bench-quick: $(READY)
	$(BIN)/python -m benchmarks --quick $(KEPT)

profile: $(READY)
	$(BIN)/python -m benchmarks.profiles $(KEPT)

LOCK := uv pip compile pyproject.toml --upgrade --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links

lock:
	$(LOCK) -o requirements/runtime.lock
	$(LOCK) --extra dev --extra web -c requirements/runtime.lock -o requirements/dev.lock
	$(LOCK) --extra pipeline -c requirements/dev.lock -o requirements/pipeline.lock
	$(LOCK) --extra pandas --extra polars --extra duckdb --extra delta --extra mcp -c requirements/dev.lock -c requirements/pipeline.lock \
		-o requirements/python.lock
	$(LOCK) --extra brokers -c requirements/dev.lock -o requirements/brokers.lock
	$(LOCK) --extra docs -c requirements/dev.lock -o requirements/docs.lock

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
