"""What ``python -m modeling.inspect`` does: pictures, what they are made of, and a page of both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from corpora.datasets.shards import write_json, write_text
from corpora.document import Span
from corpora.errors import CorpusError, UsageError
from modeling.data.sentences import SentenceSet
from modeling.inspect import pictures
from modeling.inspect.attention import attention_maps
from modeling.inspect.geometry import Method, Numbers, embed, find_components
from modeling.inspect.samples import Drawn, Which, draw_spans, read_vectors
from modeling.pages import Block, Heading, Picture, Table, Text, to_html
from modeling.predict.encoder import Encoder, Parts

_TITLES: Final = {"pca": "First two components", "tsne": "t-SNE", "umap": "UMAP"}
_LISTED: Final = 10
"""Components in the table."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for."""

    run: Path
    output: Path
    plots: Sequence[Method] = ()
    ner: Path | None = None
    split: str = "dev"
    which: Which = "names"
    sample: int = 2000
    seed: int = 1
    parts: Parts | None = None
    max_words: int = 8
    neighbours: float = 30.0
    attention: str | None = None
    layers: Sequence[int] = ()
    """From 1; none: all."""
    heads: Sequence[int] = ()
    """From 1; none: all."""
    mentions: Sequence[Span] = ()
    lang: str | None = None


def run(request: Request) -> Iterator[str]:
    """Write the pictures and the page, and say what came of it in lines."""
    encoder = Encoder.load(request.run, device="cuda" if torch.cuda.is_available() else "cpu")
    request.output.mkdir(parents=True, exist_ok=True)
    blocks: list[Block] = [Heading(f"Inside {request.run.name}", 1)]
    if request.plots:
        blocks += _show_spans(request, encoder)
    if request.attention is not None:
        blocks += _show_attention(request, encoder)
    write_text(request.output / "inspection.html", [to_html(blocks)])
    n = sum(isinstance(block, Picture) for block in blocks)
    yield f"made {request.output} (inspection.html, {n} pictures)"


def _show_spans(request: Request, encoder: Encoder) -> Iterator[Block]:
    assert request.ner is not None  # noqa: S101 - checked with the command
    sentences = SentenceSet.open(request.ner, request.split)
    sample = draw_spans(
        sentences,
        which=request.which,
        size=request.sample,
        seed=request.seed,
        max_words=request.max_words,
    )
    vectors = read_vectors(encoder, sample.spans, parts=request.parts)
    components = find_components(vectors)
    labels = [one.span.label for one in sample.spans]
    n_words = [one.n_words for one in sample.spans]
    yield Heading("Spans")
    yield Text(
        f"{len(sample.spans):,} of {sample.n:,} spans ({request.which}) of "
        f"{request.ner.name}, {request.split}, drawn with seed {request.seed}; vectors of "
        f"{vectors.shape[1]:,} numbers."
    )
    shares = components.shares
    rows = [
        [str(place + 1), f"{shares[place]:.4f}", f"{shares[: place + 1].sum():.4f}"]
        for place in range(min(_LISTED, len(shares)))
    ]
    yield Table([["component", "share of the variance", "together"], *rows])
    yield _picture(pictures.draw_variances(components), "variances", request.output)
    planes: dict[str, Numbers] = {}
    for method in request.plots:
        if method == "pca":
            yield _picture(pictures.draw_crossed(components, labels), "components", request.output)
            plane = components.points[:, :2]
        else:
            plane = embed(components, method, seed=request.seed, neighbours=request.neighbours)
        if plane.shape[1] == 2:
            planes[method] = plane
            figure = pictures.draw_plane(plane, labels, n_words, title=_TITLES[method])
            yield _picture(figure, method, request.output)
    write_text(request.output / "points.tsv", _points(sample.spans, planes))
    told: dict[str, Any] = {
        "spans": len(labels),
        "of": sample.n,
        "seed": request.seed,
        "which": request.which,
    }
    told |= {"width": vectors.shape[1], "variance": components.total}
    write_json(request.output / "spans.json", told | {"shares": shares.tolist()})


def _points(spans: Sequence[Drawn], planes: Mapping[str, Numbers]) -> Iterator[str]:
    """A line for each span: where it stands, what it is, and where it lies in each plane."""
    axes = [f"{method}_{axis}" for method in planes for axis in "xy"]
    yield "\t".join(["sentence", "start", "end", "label", "text", *axes]) + "\n"
    for number, one in enumerate(spans):
        where = [f"{value:.5f}" for plane in planes.values() for value in plane[number]]
        span, text = one.span, " ".join(one.text.split())
        cells = [one.sentence.id, str(span.start), str(span.end), span.label, text, *where]
        yield "\t".join(cells) + "\n"


def _show_attention(request: Request, encoder: Encoder) -> Iterator[Block]:
    assert request.attention is not None  # noqa: S101 - or nobody asks
    n_layers, n_heads = encoder.config.n_layers, encoder.config.n_heads
    layers = _chosen(request.layers, n_layers, "--layers")
    heads = _chosen(request.heads, n_heads, "--heads")
    yield Heading("Attention")
    yield Text(request.attention)
    maps = attention_maps(encoder, request.attention, request.mentions, lang=request.lang)
    for found in maps:
        if found.layer in layers:
            name = f"attention-layer-{found.layer}-{found.what}"
            yield _picture(pictures.draw_attention(found, heads), name, request.output)


def _chosen(numbers: Sequence[int], n: int, option: str) -> Sequence[int]:
    if wrong := [number for number in numbers if not 1 <= number <= n]:
        raise UsageError(f"{option} {wrong[0]}: there are 1 to {n}.")
    return numbers or range(1, n + 1)


def _picture(figure: Any, name: str, folder: Path) -> Picture:
    pictures.save(figure, folder / f"{name}.png")
    return Picture(pictures.svg(figure, name))


def check(request: Request) -> None:
    """Raise ``UsageError`` for a command that asks for nothing, or not for enough."""
    if not request.plots and request.attention is None:
        raise UsageError("nothing is asked for: --plot pca, or --attention TEXT")
    if request.plots and request.ner is None:
        raise UsageError("--plot needs --ner, the dataset whose spans are drawn")
    if request.ner is not None and not request.ner.is_dir():
        raise CorpusError(f"--ner {request.ner}: no such folder.")
