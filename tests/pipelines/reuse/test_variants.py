"""Links in another script, to pages that are new, or were taken over from an earlier run."""

import pytest

from corpora.datasets.shards import open_dataset
from corpora.wikipedia.reuse import AGAIN, TAKEN
from tests.corpora.wikipedia.small_wiki import Page
from tests.pipelines.reuse.small_refreshes import files_of, reused, run

pytestmark = pytest.mark.usefixtures("without_runner")
HEAD = """<mediawiki xml:lang="sr"><siteinfo><dbname>srwiki</dbname>
<base>https://sr.wikipedia.org/wiki/X</base><namespaces><namespace key="0"/></namespaces></siteinfo>
"""
FIRST = Page(1, "Србија", "Главни град је [[Beograd]], не [[Ниш]].")
CITY = Page(2, "Београд", "Град у земљи [[Srbija]].")


def dump(*pages):
    return f"{HEAD}{''.join(page.xml() for page in pages)}</mediawiki>\n"


def links_of(output):
    documents = open_dataset(output / "documents").records()
    return {d.title: [m.entity for m in d.mentions if m.origin == "link"] for d in documents}


def test_links_in_another_script_lead_to_the_page_also_if_it_is_new(tmp_path):
    assert run(dump(FIRST), tmp_path / "old") == 0
    assert run(dump(FIRST, CITY), tmp_path / "whole") == 0
    assert run(dump(FIRST, CITY), tmp_path / "new", "--reuse", tmp_path / "old") == 0

    assert links_of(tmp_path / "old") == {"Србија": ["srwiki:Beograd", "srwiki:Ниш"]}
    assert links_of(tmp_path / "new") == {
        "Србија": ["srwiki:Београд", "srwiki:Ниш"],
        "Београд": ["srwiki:Србија"],
    }
    assert reused(tmp_path / "new") == {TAKEN: 1, AGAIN: 1}
    assert files_of(tmp_path / "new") == files_of(tmp_path / "whole")
