#!/usr/bin/env bash
# The main jobs of Onoma on the samples, in build/: `make demo`, or bash demo.sh where onoma is in the PATH.
# Each command is printed before it runs, and says itself what it read and made.
set -euv
cd "$(dirname "${BASH_SOURCE[0]}")"
TINY="training.max_steps=150 training.batch_size=16 training.micro_batch_size=16 training.evaluate_every=50"

# 1. An edition: eight letters become documents and NER data. Next: docs/editions.md
onoma tei --input 'tests/data/letters/*.xml' --edition tests/data/letters/edition.toml --output build/demo
onoma verify build/demo
onoma show build/demo/documents --limit 1

# 2. A dump of Wikipedia: documents, a vocabulary of entities, more mentions. Next: docs/wikipedia.md
onoma wikipedia --input tests/data/wikipedia/kleinwiki-20261101-pages-articles.xml --output build/demo-wiki
onoma vocab --input build/demo-wiki/documents --output build/demo-vocab
onoma augment --input build/demo-wiki/documents --forms build/demo-vocab --policy gated --output build/demo-augmented
for dataset in wiki vocab augmented; do onoma verify build/demo-$dataset; done
onoma show build/demo-wiki/documents --limit 1
onoma wikipedia --input tests/data/wikipedia/kleinwiki-NS0-20261101-ENTERPRISE-HTML.ndjson --output build/demo-html
onoma show build/demo-html/documents --limit 1
cat build/demo-wiki/report.md

# 3. A tiny encoder of words and entities. Next: docs/pretraining.md, onoma pretrain --list
onoma text --input 'tests/data/text/brief*.txt' --lang de --output build/demo-text
onoma tokenizer --input build/demo-augmented build/demo/documents build/demo-text --size 1500 --output build/demo-tokenizer
onoma examples --input build/demo-augmented build/demo/documents --tokenizer build/demo-tokenizer \
    --entity-vocab build/demo-vocab --max-length 128 --validation 0.1 --output build/demo-examples
for dataset in text tokenizer examples; do onoma verify build/demo-$dataset; done
onoma pretrain daluke_small --examples build/demo-examples --output build/demo-run --set $TINY
onoma report build/demo-run --output build/demo-run/report.html

# 4. A tagger, its scores, and a ninth letter with the names that it finds, which are taken out again.
# Eight letters teach little, and the report says so. Next: docs/tagging.md, docs/enriching.md
onoma finetune crf_small --ner build/demo/ner --model build/demo-run --augment-lexicon train --output build/demo-tagger \
    --set training.epochs=15 training.batch_size=8
onoma evaluate build/demo-tagger --ner build/demo/ner --output build/demo-tagger/scores
rm -rf build/demo-enriched
onoma predict build/demo-tagger --tei tests/data/enrich/09.xml --edition tests/data/letters/edition.toml --threshold 0.3 \
    --output build/demo-enriched
git --no-pager diff --no-index --color=always --color-words='<[^>]*>|[^<[:space:]]+' \
    tests/data/enrich/09.xml build/demo-enriched/09.xml || true
onoma predict --tei build/demo-enriched/09.xml --undo --output build/demo-undone
cmp tests/data/enrich/09.xml build/demo-undone/09.xml

# 5. A linker: who is meant, by the register of the edition. Next: docs/linking.md
onoma link evaluate build/demo/documents --register 'tests/data/register/*.xml' --output build/demo-links
onoma link train build/demo/documents --register 'tests/data/register/*.xml' --max-wrong 0.1 --output build/demo-linker
onoma link apply build/demo-linker --ner build/demo/ner --output build/demo-links/linked.jsonl

# 6. A Chinese story: its new words, which are its invented names. Next: docs/lexicon.md
onoma text --input tests/data/text/wulingzhen.txt --lang zh --group 雾泠镇 --split-pattern '^第.{1,3}回' --output build/demo-zh
onoma lexicon --input build/demo-zh --known none --min-count 4 --output build/demo-lexicon
onoma augment --input build/demo-zh --forms build/demo-lexicon --output build/demo-matched
for dataset in zh lexicon matched; do onoma verify build/demo-$dataset; done
cat build/demo-lexicon/lexicon.tsv

# 7. Ten saved pages of an invented portal: articles, with places of the small wiki. Next: docs/news.md
onoma news --html 'tests/data/news/*.html*' --urls tests/data/news/urls.tsv --output build/demo-news
onoma augment --input build/demo-news --forms build/demo-vocab --policy gated --output build/demo-news-annotated
for dataset in news news-annotated; do onoma verify build/demo-$dataset; done
cat build/demo-news/report.md

# 8. A version of the small wiki in a store. Next: docs/refresh.md
onoma store publish build/demo-wiki build/store/kleinwiki
