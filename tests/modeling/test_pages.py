import xml.etree.ElementTree as ET

import pytest

from corpora.reports.pages import Prose, to_markdown
from modeling.pages import new_figure, to_svg


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("AT&amp;T, R&D & co.", r"AT\&amp;T, R&D & co."),
        ("~~x~~ ~ 3", r"\~\~x\~\~ ~ 3"),
        ("5 $ and 6 $", r"5 \$ and 6 \$"),
        ("a_b* [c] <d> | #e \\ `f`", r"a\_b\* \[c\] \<d\> \| \#e \\ \`f\`"),
    ],
)
def test_names_are_no_markup_in_markdown(text, written):
    assert to_markdown([Prose(text)]) == f"{written}\n"


def test_styles_of_a_picture_become_attributes_and_its_texts_stay():
    pytest.importorskip("matplotlib")
    figure, [[panel]] = new_figure(1, 1, (2, 2))
    panel.imshow([[0, 1], [1, 0]], interpolation="none")
    panel.set_title('a style="fill: red" <b>')

    svg = to_svg(figure, 'a "picture"')

    drawn = ET.fromstring(svg)  # noqa: S314
    assert drawn.attrib["aria-label"] == 'a "picture"'
    assert [one for one in drawn.iter() if "style" in one.attrib] == []
    assert 'a style="fill: red" <b>' in "".join(drawn.itertext())
    assert any(one.attrib.get("image-rendering") == "pixelated" for one in drawn.iter())
