import pytest

from modeling.pages import Text, to_markdown


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
    assert to_markdown([Text(text)]) == f"{written}\n"
