# make demo    set up, and run the main jobs on the samples
# make test    set up, and run the tests
# make check   ruff, mypy, the tests, the site, the tutorials as they are printed, and the wheel
# make docs    build/site: the documentation as a site; looks at it in Chromium, where there is one
# make tutorials  run the commands of docs/tutorials and more pages, compare with what they show, and run new projects; readme-test: the front page, too
# make wheel   build/dist: sdist and wheel; make wheel-test installs it as a stranger would, with each extra alone
# make image-test  the steps of the Dockerfile in clean roots, and what comes out: root, debootstrap and Go, no Docker
# make lock    find versions of all that make installs, and write them down
# make flink   run pipelines on a Flink cluster of this machine, and compare (docs/scale.md)
# make spark   the same on Spark
# make airflow Airflow on the samples, at http://localhost:8080 (docs/airflow.md)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AIRFLOW := .airflow/venv
SAMPLES := tests/data/letters
TINY := training.max_steps=150 training.batch_size=16 training.micro_batch_size=16 training.evaluate_every=50
TORCH := 2.13.0
LOCK := build/lock/bin
COMPILE := --universal --python-version 3.11 --fork-strategy fewest --no-annotate --no-header --quiet
DUMP := tests/data/wikipedia/kleinwiki-20261101-pages-articles.xml

.PHONY: demo airflow flink flink-smoke spark test docs wheel wheel-test image-test readme-test tutorials check install install-dev lock format lint types clean help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

# What `make demo` runs, and nothing else.
install: $(VENV)/installed

# And what the checks need: test tools, Beam, news-please, wikiextractor (AGPL) …
install-dev: $(VENV)/installed-dev

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Onoma needs Python 3.11 or later; say which with: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt --editable '.[pipelines,modeling,plots,news,linking,serve]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt --editable '.[pipelines,modeling,plots,news,linking,serve,dev]'
	@touch $@

demo: install
	$(BIN)/python -m pipelines.tei_to_ner --input '$(SAMPLES)/*.xml' --edition $(SAMPLES)/edition.toml --output build/demo
	$(BIN)/python -m corpora.shards verify build/demo
	$(BIN)/python -m corpora.shards show build/demo/documents --limit 1
	@echo "Made: build/demo, NER data from the eight letters in $(SAMPLES), with $(SAMPLES)/edition.toml."
	@echo "Look: build/demo/card.md (what to know before you trust a score), build/demo/train.conll."
	@echo "Next: $(BIN)/python -m pipelines.tei_to_ner --input 'YOUR/*.xml' --edition tei --output build/mine"
	@echo "      docs/editions.md says how an edition of your own is described."
	$(BIN)/python -m pipelines.wikipedia_to_documents --input $(DUMP) --output build/demo-wiki
	$(BIN)/python -m pipelines.documents_to_entity_vocab --input build/demo-wiki/documents --output build/demo-vocab
	$(BIN)/python -m pipelines.augment_mentions --input build/demo-wiki/documents --forms build/demo-vocab --policy gated --output build/demo-augmented
	for made in wiki vocab augmented; do $(BIN)/python -m corpora.shards verify build/demo-$$made || exit 1; done
	$(BIN)/python -m corpora.shards show build/demo-wiki/documents --limit 1
	@cat build/demo-wiki/report.md
	@echo "Made: build/demo-wiki (documents, redirects), build/demo-vocab (entities), build/demo-augmented, from $(DUMP)."
	@echo "Look: build/demo-wiki/report.md (above), build/demo-vocab/report.md, build/demo-vocab/entity_vocab.tsv."
	@echo "Next: docs/wikipedia.md says how a dump of yours is read."

	$(BIN)/python -m pipelines.text_to_documents --input 'tests/data/text/brief*.txt' --lang de --output build/demo-text
	$(BIN)/python -m pipelines.documents_to_tokenizer --input build/demo-augmented build/demo/documents build/demo-text --size 1500 --output build/demo-tokenizer
	$(BIN)/python -m pipelines.documents_to_examples --input build/demo-augmented build/demo/documents --tokenizer build/demo-tokenizer --entity-vocab build/demo-vocab --max-length 128 --validation 0.1 --output build/demo-examples
	for made in text tokenizer examples; do $(BIN)/python -m corpora.shards verify build/demo-$$made || exit 1; done
	$(BIN)/python -m modeling.pretrain daluke_small --examples build/demo-examples --output build/demo-run --set $(TINY)
	$(BIN)/python -m modeling.report build/demo-run --output build/demo-run/report.html
	@echo "Made: build/demo-tokenizer, build/demo-examples, and in build/demo-run a tiny encoder of words and entities."
	@echo "Look: build/demo-examples/report.md, build/demo-run/report.html, build/demo-run/metrics.jsonl."
	@echo "Next: docs/pretraining.md; $(BIN)/python -m modeling.pretrain --list"

	$(BIN)/python -m modeling.finetune crf_small --ner build/demo/ner --model build/demo-run --augment-lexicon train --output build/demo-tagger --set training.epochs=15 training.batch_size=8
	$(BIN)/python -m modeling.evaluate build/demo-tagger --ner build/demo/ner --output build/demo-tagger/scores
	rm -rf build/demo-enriched
	$(BIN)/python -m modeling.predict build/demo-tagger --tei tests/data/enrich/09.xml --edition $(SAMPLES)/edition.toml --threshold 0.3 --output build/demo-enriched
	@git --no-pager diff --no-index --color=always --color-words='<[^>]*>|[^<[:space:]]+' tests/data/enrich/09.xml build/demo-enriched/09.xml || true
	$(BIN)/python -m modeling.predict --tei build/demo-enriched/09.xml --undo --output build/demo-undone
	cmp tests/data/enrich/09.xml build/demo-undone/09.xml
	@echo "Made: build/demo-tagger, a name tagger that has seen eight letters; build/demo-enriched, a ninth with the names that it found (above)."
	@echo "Look: build/demo-tagger/scores/report.md: so few letters teach little, and the report says so."
	@echo "Next: docs/tagging.md, docs/enriching.md; $(BIN)/python -m modeling.finetune --list"

	$(BIN)/python -m modeling.link evaluate build/demo/documents --register 'tests/data/register/*.xml' --output build/demo-links
	$(BIN)/python -m modeling.link train build/demo/documents --register 'tests/data/register/*.xml' --max-wrong 0.1 --output build/demo-linker
	$(BIN)/python -m modeling.link apply build/demo-linker --ner build/demo/ner --output build/demo-links/linked.jsonl
	@echo "Made: build/demo-linker, which says who is meant in the letters, by their register; build/demo-links/report.md (above) says how well."
	@echo "Look: build/demo-links/names.tsv, build/demo-links/linked.jsonl. Next: docs/linking.md"

	$(BIN)/python -m pipelines.text_to_documents --input tests/data/text/wulingzhen.txt --lang zh --group 雾泠镇 --split-pattern '^第.{1,3}回' --output build/demo-zh
	$(BIN)/python -m pipelines.documents_to_lexicon --input build/demo-zh --known none --min-count 4 --output build/demo-lexicon
	$(BIN)/python -m pipelines.augment_mentions --input build/demo-zh --forms build/demo-lexicon --output build/demo-matched
	for made in zh lexicon matched; do $(BIN)/python -m corpora.shards verify build/demo-$$made || exit 1; done
	@cat build/demo-lexicon/lexicon.tsv
	@echo "Made: build/demo-lexicon, the new words of a Chinese story (above): its invented names; build/demo-matched, the story with them."
	@echo "Look: build/demo-lexicon/report.html. Next: docs/lexicon.md"

	$(BIN)/python -m pipelines.news_to_documents --html 'tests/data/news/*.html*' --urls tests/data/news/urls.tsv --output build/demo-news
	$(BIN)/python -m pipelines.augment_mentions --input build/demo-news --forms build/demo-vocab --policy gated --output build/demo-news-annotated
	for made in news news-annotated; do $(BIN)/python -m corpora.shards verify build/demo-$$made || exit 1; done
	@cat build/demo-news/report.md
	@echo "Made: build/demo-news, articles from ten saved pages of an invented portal; build/demo-news-annotated, the same with places of the small wiki."
	@echo "Look: build/demo-news/report.md (above), build/demo-news/duplicates.tsv. Next: docs/news.md"
	$(BIN)/python -m corpora.store publish build/demo-wiki build/store/kleinwiki
	@echo "Made: build/store/kleinwiki, a verified version of the small wiki. Next: docs/refresh.md"

# An environment of its own: what Airflow pins is nobody else's concern.
$(AIRFLOW)/installed: dags/constraints.txt
	test -x $(AIRFLOW)/bin/python || $(PYTHON) -m venv $(AIRFLOW)
	$(AIRFLOW)/bin/python -m pip install --quiet --constraint dags/constraints.txt --upgrade pip
	$(AIRFLOW)/bin/python -m pip install --quiet --constraint dags/constraints.txt apache-airflow
	@touch $@

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

docs: install-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python -m pytest tests/check_docs.py

wheel: install-dev
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist .

readme-test: install-dev
	$(BIN)/python -m pytest tests/check_readme.py

tutorials: install-dev
	$(BIN)/python -m pytest tests/check_readme.py -k 'not front'

wheel-test: install-dev
	$(BIN)/python -m pytest tests/check_wheel.py

image-test: install-dev
	$(BIN)/python -m pytest tests/check_image.py

lint: install-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install-dev
	$(BIN)/mypy

check: lint types test docs tutorials wheel-test

format: install-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The files as they are say which versions are preferred; with UPGRADE=--upgrade the newest are.
lock:
	test -x $(LOCK)/uv || ($(PYTHON) -m venv build/lock && $(LOCK)/python -m pip install --quiet uv)
	printf 'pip\nsetuptools\ntorch==$(TORCH)\n' | $(LOCK)/uv pip compile pyproject.toml - $(COMPILE) $(UPGRADE) --extra pipelines --extra modeling --extra plots --extra news --extra dev --output-file constraints.txt
	printf 'pip\napache-airflow>=3.3.2,<3.4\n' | $(LOCK)/uv pip compile - $(COMPILE) $(UPGRADE) --output-file dags/constraints.txt
	sed -i '1i # One version of all that `make` installs into .venv, for Python 3.11 and later on Linux: `make lock`.\n# Without hashes: pip wants them for all or for none, and would then refuse this folder (--editable) and\n# a CPU build of torch. That build is enough for all that `make` does; where pip does not find it, add:\n# --extra-index-url https://download.pytorch.org/whl/cpu' constraints.txt
	sed -i '1i # One version of all that `make airflow` and `make test` install into .airflow/venv: `make lock`.' dags/constraints.txt

clean:
	rm -rf build .mypy_cache .ruff_cache .hypothesis
