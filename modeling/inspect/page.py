"""The work of ``onoma inspect``: pictures, their data, and a page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corpora.document import Span
from corpora.errors import UsageError
from corpora.reports.pages import Block, Heading, Picture, Prose, Table, to_html
from corpora.system.arguments import Summary
from corpora.system.cells import one_line
from corpora.system.parsing import read_json
from corpora.system.writing import write_json, write_text
from modeling.finetune.data import NerData
from modeling.inspect import pictures
from modeling.inspect.attention import attention_maps
from modeling.inspect.geometry import Numbers, embed, find_components
from modeling.inspect.samples import DrawnSpan, draw_spans, read_vectors
from modeling.pages import to_svg
from modeling.predict.masked import parse_spans
from modeling.taggers.encoder import Encoder
from modeling.training.world import best_device

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from modeling.inspect.__main__ import Options

_TITLES: Final = {"pca": "First two components", "tsne": "t-SNE", "umap": "UMAP"}
_LISTED: Final = 10
"""The number of components in the table."""


def run(options: "Options") -> Iterator[str | Summary]:
    """Write the pictures and the page; yield lines that report them, and the summary last."""
    encoder = Encoder.load(options.run, device=best_device())
    options.output.mkdir(parents=True, exist_ok=True)
    blocks: list[Block] = [Heading(f"Inside {options.run.name}", 1)]
    if options.plot:
        blocks += _show_spans(options, encoder)
    if options.attention is not None:
        blocks += _show_attention(options, encoder)
    write_text(options.output / "inspection.html", [to_html(blocks)])
    n = sum(isinstance(block, Picture) for block in blocks)
    yield f"made  {options.output} (inspection.html, {n} pictures)"
    spans = read_json(options.output / "spans.json") if options.plot else None
    yield Summary({"output": str(options.output), "pictures": n, "spans": spans})


def _show_spans(options: "Options", encoder: Encoder) -> Iterator[Block]:
    assert options.ner is not None  # noqa: S101 - checked with the command
    sentences = NerData.open(options.ner, options.split).sentences
    sample = draw_spans(sentences, which=options.spans, size=options.sample)
    vectors = read_vectors(encoder, sample.spans)
    components = find_components(vectors)
    labels = [span.span.label for span in sample.spans]
    n_words = [span.n_words for span in sample.spans]
    yield Heading("Spans")
    yield Prose(
        f"{len(sample.spans):,} of {sample.n:,} spans ({options.spans}) of "
        f"{options.ner.name}, {options.split}, drawn at random; vectors of "
        f"{vectors.shape[1]:,} numbers."
    )
    ratios = components.ratios
    rows = [
        [str(place + 1), f"{ratios[place]:.4f}", f"{ratios[: place + 1].sum():.4f}"]
        for place in range(min(_LISTED, len(ratios)))
    ]
    yield Table([["component", "ratio of the variance", "together"], *rows])
    yield _picture(pictures.draw_variances(components), "variances", options.output)
    planes: dict[str, Numbers] = {}
    for method in options.plot:
        if method == "pca":
            yield _picture(pictures.draw_crossed(components, labels), "components", options.output)
            plane = components.points[:, :2]
        else:
            plane = embed(components, method)
        if plane.shape[1] == 2:
            planes[method] = plane
            figure = pictures.draw_plane(plane, labels, n_words, title=_TITLES[method])
            yield _picture(figure, method, options.output)
    write_text(options.output / "points.tsv", _points(sample.spans, planes))
    facts: dict[str, object] = {"spans": len(labels), "of": sample.n, "which": options.spans}
    facts |= {"width": vectors.shape[1], "variance": components.total}
    write_json(options.output / "spans.json", facts | {"ratios": ratios.tolist()})


def _points(spans: Sequence[DrawnSpan], planes: Mapping[str, Numbers]) -> Iterator[str]:
    """Yield a TSV line for each span: place, label, text, and its coordinates in each plane."""
    axes = [f"{method}_{axis}" for method in planes for axis in "xy"]
    yield "\t".join(["sentence", "start", "end", "label", "text", *axes]) + "\n"
    for number, one in enumerate(spans):
        where = [f"{value:.5f}" for plane in planes.values() for value in plane[number]]
        span, id = one.span, one_line(one.sentence.id)
        about = one_line(span.label), one_line(one.text)
        cells = [id, str(span.start), str(span.end), *about, *where]
        yield "\t".join(cells) + "\n"


def _show_attention(options: "Options", encoder: Encoder) -> Iterator[Block]:
    assert options.attention is not None  # noqa: S101 - or nobody asks
    n_layers, n_heads = encoder.config.n_layers, encoder.config.n_heads
    layers = _chosen(options.layers, n_layers, "--layers")
    heads = _chosen(options.heads, n_heads, "--heads")
    yield Heading("Attention")
    yield Prose(options.attention)
    mentions = [Span(*pair) for pair in parse_spans(options.entities)]
    maps = attention_maps(encoder, options.attention, mentions, lang=options.lang)
    for found in maps:
        if found.layer in layers:
            name = f"attention-layer-{found.layer}-{found.what}"
            yield _picture(pictures.draw_attention(found, heads), name, options.output)


def _chosen(numbers: Sequence[int], n: int, option: str) -> Sequence[int]:
    if wrong := [number for number in numbers if not 1 <= number <= n]:
        raise UsageError(f"{option} {wrong[0]}: there are 1 to {n}.")
    return numbers or range(1, n + 1)


def _picture(figure: "Figure", name: str, folder: Path) -> Picture:
    pictures.save(figure, folder / f"{name}.png")
    return Picture(to_svg(figure, name, dpi=pictures.DPI))
