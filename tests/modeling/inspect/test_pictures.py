"""Pictures of vectors and of attention name everything that they show."""

import numpy as np
import pytest
import torch

from modeling.inspect.attention import AttentionMap
from modeling.inspect.geometry import find_components

pytest.importorskip("matplotlib")


def drawn(names):
    from modeling.inspect.pictures import draw_crossed, draw_plane

    labels = [names[place % len(names)] for place in range(3 * len(names) + 3)]
    components = find_components(np.random.default_rng(1).normal(size=(len(labels), 6)))
    yield draw_crossed(components, labels)
    yield draw_plane(components.points[:, :2], labels, [1] * len(labels), title="PCA")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 60])
def test_all_labels_stand_in_the_picture_each_with_a_look_of_its_own(n):
    names = ["_hidden", "$^$", "x" * 300, *(f"LABEL_{place}" for place in range(57))][:n]

    for figure in drawn(names):
        figure.draw_without_rendering()
        [legend] = figure.legends
        place, whole = legend.get_window_extent(), figure.bbox
        assert whole.x0 <= place.x0 < place.x1 <= whole.x1
        assert whole.y0 <= place.y0 < place.y1 <= whole.y1
        assert all(place.y1 <= panel.get_window_extent().y0 for panel in figure.axes)
        shown = [text.get_text() for text in legend.get_texts()]
        assert shown == [
            name if len(name) < 41 else f"{name[:26]}…{name[-13:]}" for name in sorted(names)
        ]
        looks = {(dot.get_color(), dot.get_marker()) for dot in legend.legend_handles}
        assert len(looks) == n


def test_subwords_with_dollar_signs_are_no_formulas():
    from modeling.inspect.pictures import draw_attention

    found = AttentionMap(1, "words", ("US$5/US$", "$^$"), torch.eye(2)[None])

    draw_attention(found, [1]).draw_without_rendering()


@pytest.mark.filterwarnings("error")
def test_long_words_leave_room_for_the_map():
    from modeling.inspect.pictures import draw_attention

    found = AttentionMap(1, "words", ("x" * 90, "y"), torch.eye(2)[None])

    figure = draw_attention(found, [1])

    figure.draw_without_rendering()
    [panel] = figure.axes
    assert panel.get_xticklabels()[0].get_text() == "x" * 13 + "…" + "x" * 6
    assert panel.get_window_extent().width > figure.bbox.width / 4
