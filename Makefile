# make demo    set up, and run the main jobs on the samples (demo.sh)
# make test    set up, and run the tests
# make check   ruff, mypy, the tests, the site, the tutorials as they are printed, and the wheel
# make docs    build/site: the documentation as a site; looks at it in Chromium, where there is one
# make tutorials  the commands of docs/tutorials and more pages as printed, and new projects; readme-test: the front page, too
# make wheel   build/dist: sdist and wheel; make wheel-test installs it as a stranger would, with each extra alone
# make image-test  the steps of the Dockerfile in clean roots, and what comes out: root, debootstrap and Go, no Docker
# make clients OpenRefine, TEI Publisher, the test bench of the W3C group and Recogito Studio ask `onoma serve`
# make sbom    build/sbom.json: the bill of materials; make test-oldest runs the tests with the oldest versions that are allowed
# make lock    write down versions of all that make installs; UPGRADE=--upgrade takes the newest
# make flink, make spark  pipelines on a cluster of this machine, compared with local runs (docs/scale.md)
# make airflow Airflow on the samples, at http://localhost:8080 (docs/airflow.md)
PYTHON ?= python3
BIN := .venv/bin
AIRFLOW := .airflow/venv
# What `make demo` runs, and nothing else; what the checks need beside it. The group dev has the test tools.
EXTRAS := pipelines,modeling,plots,news,linking,serve
MORE := tei,onnx,chinese,buckets,bioc,cas,lora,spacy,news-please,zim,wikiextractor
PIP := -m pip install --quiet --constraint constraints.txt
LOCK := build/lock/bin
COMMA := ,
COMPILE := $(LOCK)/uv pip compile --universal --python-version 3.11 --fork-strategy fewest --no-annotate --no-header --quiet $(UPGRADE)

.PHONY: help install install-dev demo airflow flink flink-smoke spark clients test docs wheel readme-test tutorials test-oldest sbom wheel-test image-test lint types check format lock clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

install: .venv/installed
install-dev: .venv/installed-dev

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Onoma needs Python 3.11 or later; say which with: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) --upgrade pip
	$(BIN)/python $(PIP) --build-constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python $(PIP) --build-constraint constraints.txt --group dev --editable '.[$(EXTRAS),$(MORE)]'
	@touch $@

# An environment of its own: what Airflow pins is nobody else's concern.
$(AIRFLOW)/installed: dags/constraints.txt
	test -x $(AIRFLOW)/bin/python || $(PYTHON) -m venv $(AIRFLOW)
	$(AIRFLOW)/bin/python -m pip install --quiet --constraint $< --upgrade pip
	$(AIRFLOW)/bin/python -m pip install --quiet --constraint $< apache-airflow
	@touch $@

demo: install
	PATH="$(CURDIR)/$(BIN):$$PATH" bash demo.sh

airflow: install $(AIRFLOW)/installed
	$(AIRFLOW)/bin/python dags/samples/start.py

# Java 17 and Maven are needed. A jar of each engine stays in build/engines: 160 MB, 310 MB.
flink spark: install-dev
	$(BIN)/python -m benchmarks.engines $@ build/engines

flink-smoke: install-dev
	$(BIN)/python -m benchmarks.engines flink build/engines --copies 20 --smoke

# In the order of the files: else those with few tests, the slowest, come last, when one worker has
# nothing left to do. Three processes: tests wait for servers, and for what they kill. Compiled
# modules are kept, or each process that a test starts compiles them.
test: install-dev $(AIRFLOW)/installed
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=15

# The lowest versions that pyproject.toml allows, in an environment of its own; those of the tools are as ever.
test-oldest: install-dev
	test -x build/oldest/bin/python || $(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet uv
	build/oldest/bin/uv pip install --quiet --python build/oldest/bin/python --resolution lowest-direct --group dev --editable '.[$(EXTRAS),$(MORE)]'
	build/oldest/bin/python -m pytest -n 3 --dist loadfile --ignore tests/dags

docs: install-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python -m pytest tests/check_docs.py

wheel: install-dev
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist .

# The bill of materials (CycloneDX) of what `make install` installs.
sbom: install
	test -x build/sbom/bin/cyclonedx-py || ($(PYTHON) -m venv build/sbom && build/sbom/bin/python -m pip install --quiet cyclonedx-bom)
	build/sbom/bin/cyclonedx-py environment --pyproject pyproject.toml --output-file build/sbom.json $(BIN)/python

readme-test: install-dev
	$(BIN)/python -m pytest tests/check_readme.py

tutorials: install-dev
	$(BIN)/python -m pytest tests/check_readme.py -k 'not front'

clients: install-dev
	$(BIN)/python -m pytest -rs tests/modeling/serve/check_clients.py

wheel-test image-test: install-dev
	$(BIN)/python -m pytest tests/check_$(@:-test=).py

lint: install-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install-dev
	$(BIN)/mypy

check: lint types test docs tutorials wheel-test

format: install-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The files as they are say which versions are preferred. There are no hashes: pip wants them for all or for none, and
# would then refuse this folder (--editable) and a CPU build of torch.
lock:
	test -x $(LOCK)/uv || ($(PYTHON) -m venv build/lock && $(LOCK)/python -m pip install --quiet uv)
	printf 'pip\nsetuptools\ntorch==2.13.0\n' | $(COMPILE) pyproject.toml - --group dev $(subst $(COMMA), --extra ,$(COMMA)$(EXTRAS)$(COMMA)$(MORE)) --output-file constraints.txt
	printf 'pip\napache-airflow>=3.3.2\n' | $(COMPILE) - --output-file dags/constraints.txt
	sed -i '1i # One version of all that `make` installs into .venv, for Python 3.11 and later on Linux: `make lock`. A CPU build of\n# torch is enough; where pip does not find it, add: --extra-index-url https://download.pytorch.org/whl/cpu' constraints.txt
	sed -i '1i # One version of all that `make airflow` and `make test` install into .airflow/venv: `make lock`.' dags/constraints.txt

clean:
	rm -rf build .mypy_cache .ruff_cache .hypothesis
