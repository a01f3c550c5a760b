"""The parameters of plans are written as before: else finished runs would be done again.

The fingerprint is a hash of them, and ``--reuse`` compares them with those of the earlier run.
"""

import json
from importlib import import_module
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
WIKI = DATA / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
LETTERS = {"input": DATA / "letters" / "*.xml", "edition": DATA / "letters" / "edition.toml"}
PIPELINES = {
    "wiki": ("wikipedia_to_documents", {"input": WIKI}),
    "wiki with options": (
        "wikipedia_to_documents",
        {
            "input": WIKI,
            "lang": "lv",
            "license": "CC0-1.0",
            "namespaces": (14, 0),
            "disambiguation": "drop",
            "blocks": "infoboxes,tables",
            "expand_templates": True,
            "limit": 9,
        },
    ),
    "text": (
        "text_to_documents",
        {"input": DATA / "text", "group": " a  b", "metadata": ("b", "a"), "exclude": ("*.md",)},
    ),
    "tei": ("tei_to_ner", {**LETTERS, "abbreviations": "learned", "limit": 7}),
    "benchmark": ("benchmark_to_ner", {"input": DATA / "ner" / "eng.testa", "split": "document"}),
    "lexicon": ("documents_to_lexicon", {"known": "none", "drop": ("inner", "known")}),
    "augment": ("augment_mentions", {"policy": "gated", "min_precision": 0.9}),
}


pytestmark = pytest.mark.usefixtures("without_runner")


@pytest.mark.parametrize("name", PIPELINES)
def test_parameters_of_a_plan_are_written_as_before(name, story, golden, tmp_path):
    forms, words = tmp_path / "forms.tsv", tmp_path / "words.toml"
    forms.write_text("Paris\tParis\n")
    words.write_text('may_be_final = ["u.c."]\nnever_final = ["sk."]\n')
    more = {"augment": {"forms": forms}, "wiki with options": {"abbreviations": words}}
    pipeline, chosen = PIPELINES[name]
    module = import_module(f"pipelines.{pipeline}")
    options = {"input": story, **chosen, **more.get(name, {})}
    options["input"] = (str(options["input"]),)

    plan = module.plan(module.Options(output=tmp_path / "out", **options))

    parameters = json.dumps(plan.description["parameters"], ensure_ascii=False, indent=1)
    golden(f"parameters/{name}.json", f"{parameters}\n")
