"""The page without a server: decided by keys, exported, and applied."""

from corpora.tei.edition import load_edition
from corpora.tei.reader import read_tei
from corpora.tei.review import apply_candidates, model_of_list, read_candidates
from corpora.tei.undo import undo
from modeling.workbench.still import write_page
from tests.modeling.workbench.test_day import Editor


def test_the_page_alone_decides_keeps_and_exports_a_list_that_is_applied(desk, sample, browser):
    page = sample / "review.html"
    write_page(desk, page)
    editor = Editor(browser)
    asked = []
    editor.page.on("request", lambda request: asked.append(request.url))

    editor.open(page.as_uri())
    editor.press("j", "a", "x", "a", "a", "z", "y")
    editor.press("p", "Control+ArrowLeft")
    editor.press("Escape", "i", "ArrowRight", "1")
    editor.page.reload()  # what was decided is kept
    editor.open(page.as_uri())
    with editor.page.expect_download() as waiting:
        editor.press("s")
    exported = sample / waiting.value.suggested_filename
    waiting.value.save_as(exported)

    assert not editor.faults
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob", "data"}
    lines = read_candidates(exported)
    assert [line.is_accepted for line in lines].count(False) == 1
    assert len(lines) == 5
    original = (sample / "letters" / "01.xml").read_bytes()
    edition = load_edition(sample / "letters.toml")
    of = {"name": "01.xml", "model": model_of_list(exported)}
    applied = apply_candidates(original, edition, lines, **of)
    assert applied.unplaced == []
    verdicts = sorted(decision.verdict for decision in applied.decisions)
    assert verdicts == ["accepted", "accepted", "added", "corrected", "rejected"]
    [before] = read_tei(original, edition, name="01.xml")
    [after] = read_tei(applied.written.data, edition, name="01.xml")
    assert len(after.document.mentions) == len(before.document.mentions) + 4
    assert undo(applied.written.data, name="01.xml") == original
