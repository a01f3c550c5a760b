"""Layers of self-attention (plain, entity-aware, char-entity, relative, whole-word), and readers.

Layers map rows (R, D) to rows (R, D), without residual connection and norm. A *reader* is a row
that attends to the remembered keys and values of its sequence (``AttentionMemory``) and to itself;
no other row attends to it.

Shapes: B sequences, N positions, T subwords, E mentions, R = T + E rows, W words, H heads, K width
of a head, D = H * K; V readers, at most L in a sequence; C subwords that know an entity, F width of
an entity's vector; τ clipping distance.
"""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import BatchWords, EntityVectors, LayerRows, Layout, SubwordEntities
from modeling.layers import fused
from modeling.layers.attention_blocks import attention, relative_attention, window_attention
from modeling.layers.transformer import drop


def to_heads(rows: Tensor, layout: Layout, n_heads: int) -> Tensor:
    """Split rows into heads and pad them with zeros: (rows, D) -> (B, H, N, K)."""
    shape = (layout.n_sequences, layout.longest, n_heads, rows.shape[1] // n_heads)
    return layout.pad(rows).view(shape).transpose(1, 2)


def from_heads(padded: Tensor, layout: Layout) -> Tensor:
    """Merge heads and remove padding, the reverse of ``to_heads``: (B, H, N, K) -> (rows, D)."""
    return layout.pack(padded.transpose(1, 2).flatten(2))


class AttentionMemory(NamedTuple):
    """The keys and values of subwords in the attention of one layer, to which readers attend."""

    key: Tensor
    """(B, H, N, K)."""
    value: Tensor
    """(B, H, N, K)."""
    attend: Tensor | None
    """(B, N) bool: True where there is a subword; None: no padding."""

    def cut(self, sequences: slice) -> "AttentionMemory":
        """Select some of the sequences."""
        attend = None if self.attend is None else self.attend[sequences]
        return AttentionMemory(self.key[sequences], self.value[sequences], attend)


class _MultiHead(nn.Module):
    """The projections of rows to heads, and back."""

    QUERIES: ClassVar[tuple[str, ...]] = ("query",)
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    output: nn.Linear

    def __init__(self, *, width: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if n_heads < 1 or width % n_heads:
            raise ValueError(
                f"Attention {width} wide cannot have {n_heads} heads: "
                "the width must be a multiple of the number of heads."
            )
        self.n_heads, self.dropout = n_heads, dropout
        for name in (*self.QUERIES, "key", "value", "output"):
            setattr(self, name, nn.Linear(width, width))

    def by_head(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project rows (R, D) to queries over √K, keys and values, (R, H, K) each."""
        query, key, value = (
            project(x).view(len(x), self.n_heads, x.shape[1] // self.n_heads)
            for project in (self.query, self.key, self.value)
        )
        return query * query.shape[2] ** -0.5, key, value

    def heads(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
        """Project rows (R, D) to queries, keys and values, (B, H, N, K) each."""
        query, key, value = (
            to_heads(project(x), layout, self.n_heads)
            for project in (self.query, self.key, self.value)
        )
        return query, key, value

    def merged(self, mixed: Tensor, layout: Layout) -> Tensor:
        """Merge heads (B, H, N, K) and project them to output rows (R, D)."""
        return self.output(from_heads(mixed, layout))  # type: ignore[no-any-return]

    def attend(self, query: Tensor, key: Tensor, value: Tensor, *, layout: Layout) -> Tensor:
        """Attend from each row to all rows of its sequence: (B, H, N, K) each -> (R, D)."""
        dropout = self.dropout if self.training else 0.0
        mixed = attention(query, key, value, attend=layout.attend, dropout=dropout)
        return self.merged(mixed, layout)


class _Remembered(_MultiHead):
    """An attention whose keys and values can be remembered for readers."""

    def remember(self, x: Tensor, layout: Layout) -> tuple[Tensor, AttentionMemory]:
        """Attend among rows of one kind, (R, D) -> (R, D); also return the memory for readers."""
        query, key, value = self.heads(x, layout)
        return self.attend(query, key, value, layout=layout), AttentionMemory(
            key, value, layout.attend
        )

    def _read(
        self, x: Tensor, memory: AttentionMemory, readers: Layout, *, queries: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Attend from readers (V, D) to the memory and to themselves: (V, D).

        ``queries``, (V, D) each: the readers' queries to subwords, and to themselves.
        """
        to_subwords, to_self = queries
        n_heads = self.n_heads
        scale = (x.shape[1] // n_heads) ** -0.5
        scores = to_heads(to_subwords * scale, readers, n_heads) @ memory.key.mT  # (B, H, L, N)
        if memory.attend is not None:
            hidden = ~memory.attend[:, None, None]
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        own = (to_self * scale * self.key(x)).unflatten(1, (n_heads, -1)).sum(2)  # (V, H)
        own = readers.pad(own).transpose(1, 2)[..., None]  # (B, H, L, 1)
        weights = torch.cat([scores, own.to(scores.dtype)], dim=3).softmax(3)
        weights = drop(weights, self.dropout if self.training else 0.0)
        to_others, to_own = weights[..., :-1], weights[..., -1:]
        mixed = to_others @ memory.value + to_own * to_heads(self.value(x), readers, n_heads)
        return self.merged(mixed, readers)


class SelfAttention(_Remembered):
    """Multi-head scaled dot-product attention of all rows of a sequence (Vaswani et al. 2017)."""

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Attend from each row to all rows of its sequence: (R, D) -> (R, D)."""
        return self.remember(x, rows.together)[0]

    def read(self, x: Tensor, memory: AttentionMemory, readers: Layout) -> Tensor:
        """Attend from each reader to its sequence's memory and to itself: (V, D) -> (V, D)."""
        query = self.query(x)
        return self._read(x, memory, readers, queries=(query, query))


class EntityAwareAttention(_Remembered):
    """LUKE's attention: the query depends on the kinds of both the attending and the attended row.

    A subword or mention x attends to y with the score Q_xy(x) . K(y) / √K. All kinds share the
    keys, the values, and one softmax over subwords and mentions (Yamada et al. 2020, section 3.3).
    """

    QUERIES = ("query", "query_to_entities", "entity_query_to_words", "entity_query")
    query_to_entities: nn.Linear
    entity_query_to_words: nn.Linear
    entity_query: nn.Linear

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Attend among subwords and mentions: (T + E, D) -> (T + E, D)."""
        n_subwords = len(rows.subwords.index)
        subwords, mentions = x[:n_subwords], x[n_subwords:]
        to_words = torch.cat([self.query(subwords), self.entity_query_to_words(mentions)])
        to_entities = torch.cat([self.query_to_entities(subwords), self.entity_query(mentions)])
        # On a CPU, scores in two parts are cheaper than heads of twice the width. On a GPU, wider
        # heads cost next to nothing, because the fused kernel writes no scores to memory.
        mix = _mix_in_parts if x.device.type == "cpu" else _mix_fused
        mixed = mix(
            (to_words, to_entities),
            self.key(x),
            self.value(x),
            rows=rows,
            n_heads=self.n_heads,
            dropout=self.dropout if self.training else 0.0,
        )
        return self.output(mixed)  # type: ignore[no-any-return]

    def read(self, x: Tensor, memory: AttentionMemory, readers: Layout) -> Tensor:
        """Attend from each mention to the remembered subwords and to itself: (V, D) -> (V, D)."""
        queries = self.entity_query_to_words(x), self.entity_query(x)
        return self._read(x, memory, readers, queries=queries)


def _mix_in_parts(
    queries: tuple[Tensor, Tensor],
    key: Tensor,
    value: Tensor,
    *,
    rows: LayerRows,
    n_heads: int,
    dropout: float,
) -> Tensor:
    """Compute the mixed values of rows, (R, D).

    ``queries``, (R, D) each: the queries to subwords, and the queries to mentions.
    """
    kinds = (rows.subwords, rows.entities or _no_rows_like(rows.subwords))
    sizes = [len(layout.index) for layout in kinds]

    def parts(x: Tensor) -> list[Tensor]:
        """Split rows (R, D) into heads of subwords (B, H, N, K) and of mentions (B, H, N', K)."""
        split = zip(torch.split(x, sizes), kinds, strict=True)
        return [to_heads(part, layout, n_heads) for part, layout in split]

    scale = (key.shape[1] // n_heads) ** -0.5
    to_words, to_entities = (parts(query * scale) for query in queries)
    word_key, entity_key = parts(key)
    values = torch.cat(parts(value), dim=2)  # (B, H, N + N', K)
    hidden = _hidden(kinds)
    mixed = []
    for layout, to_word, to_entity in zip(kinds, to_words, to_entities, strict=True):
        scores = torch.cat([to_word @ word_key.mT, to_entity @ entity_key.mT], dim=3)
        if hidden is not None:
            scores.masked_fill_(hidden[:, None, None], torch.finfo(scores.dtype).min)
        weights = drop(scores.softmax(3), dropout)
        mixed.append(from_heads(weights @ values, layout))
    return torch.cat(mixed)


def _mix_fused(
    queries: tuple[Tensor, Tensor],
    key: Tensor,
    value: Tensor,
    *,
    rows: LayerRows,
    n_heads: int,
    dropout: float,
) -> Tensor:
    """Compute the same as ``_mix_in_parts`` by one attention with heads 2K wide.

    Queries are [Q_xw; Q_xe]; keys are [K; 0] for subwords and [0; K] for mentions.
    """
    layout, n_subwords = rows.together, len(rows.subwords.index)
    width = key.shape[1] // n_heads
    to_words, to_entities, key, value = (
        x.view(len(x), n_heads, width) for x in (*queries, key, value)
    )
    word_key, entity_key = key[:n_subwords], key[n_subwords:]  # (T, H, K), (E, H, K)
    key = torch.cat([functional.pad(word_key, (0, width)), functional.pad(entity_key, (width, 0))])
    mixed = attention(
        layout.pad(torch.cat([to_words, to_entities], dim=2)).transpose(1, 2),
        layout.pad(key).transpose(1, 2),
        layout.pad(functional.pad(value, (0, width))).transpose(1, 2),
        attend=layout.attend,
        dropout=dropout,
        scale=width**-0.5,
    )
    return from_heads(mixed[..., :width], layout)


def _no_rows_like(layout: Layout) -> Layout:
    """Return a layout of as many sequences, each without rows."""
    return Layout.of([0] * layout.n_sequences).to(layout.index.device)


def _hidden(layouts: tuple[Layout, ...]) -> Tensor | None:
    """Return the mask (B, N + N') bool, True where no row stands; None if there is no padding."""
    if all(layout.attend is None for layout in layouts):
        return None
    return ~torch.cat([layout.stands for layout in layouts], dim=1)


def relative_table(clip: int, width: int) -> nn.Parameter:
    """Draw a table (2 clip + 1, width), a vector for each offset, from U(-0.05, 0.05) as in Keras.

    Raises ``ValueError`` if ``clip`` is less than 1.
    """
    if clip < 1:
        raise ValueError(f"Relative positions are clipped at 1 or more, not at {clip}.")
    return nn.Parameter(torch.empty(2 * clip + 1, width).uniform_(-0.05, 0.05))


class RelativeSelfAttention(_MultiHead):
    """Attention with relative positions: offsets of subwords, clipped at the distance τ = ``clip``.

    e_ij = q_i . (k_j + a_clip(j - i)) / √K and z_i = Σ_j α_ij (v_j + b_clip(j - i)). The tables
    ``keys`` (a) and ``values`` (b) belong to the layer and are shared by its heads; their middle
    row is that of offset 0. There is no dropout on the weights, as in NEISS.
    """

    def __init__(self, *, width: int, n_heads: int, clip: int) -> None:
        super().__init__(width=width, n_heads=n_heads)
        self.keys = relative_table(clip, width // n_heads)
        self.values = relative_table(clip, width // n_heads)

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Attend among subwords, which must be the only rows: (T, D) -> (T, D)."""
        layout = rows.subwords
        query, key, value = self.by_head(x)
        if fused.covers(query, clip=len(self.keys) // 2):
            mixed = fused.relative_attention(
                query, key, value, keys=self.keys, values=self.values, layout=layout
            )
            return self.output(mixed.flatten(1))  # type: ignore[no-any-return]
        query, key, value = (layout.pad(part).transpose(1, 2) for part in (query, key, value))
        mixed = relative_attention(
            query, key, value, keys=self.keys, values=self.values, attend=layout.attend
        )
        return self.merged(mixed, layout)


class WindowAttention(_MultiHead):
    """Attention of each subword to the subwords at most ``window`` away, itself included.

    The softmax is over this window only. ``clip``: the clipping distance of relative
    positions, with tables as in ``RelativeSelfAttention``; None: no positions.
    """

    offsets: Tensor

    def __init__(self, *, width: int, n_heads: int, window: int, clip: int | None) -> None:
        super().__init__(width=width, n_heads=n_heads)
        self.window = window
        self.keys: nn.Parameter | None = None
        self.values: nn.Parameter | None = None
        if clip is not None:
            self.keys, self.values = (relative_table(clip, width // n_heads) for _ in range(2))
            rows = torch.arange(-window, window + 1).clamp(-clip, clip) + clip
            self.register_buffer("offsets", rows, persistent=False)

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Attend from each subword to its window: (T, D) -> (T, D)."""
        layout, window = rows.subwords, self.window
        tables = None
        if self.keys is not None and self.values is not None:
            tables = (self.keys[self.offsets], self.values[self.offsets])  # (2ω + 1, K)
        query, key, value = self.by_head(x)
        if fused.covers(query, clip=window + 1):
            mixed = fused.window_attention(
                query, key, value, window=window, tables=tables, layout=layout
            )
            return self.output(mixed.flatten(1))  # type: ignore[no-any-return]
        query, key, value = (layout.pad(part).transpose(1, 2) for part in (query, key, value))
        mixed = window_attention(
            query, key, value, window=window, tables=tables, attend=layout.attend
        )
        return self.merged(mixed, layout)


class WholeWordAttention(nn.Module):
    """The sum of an attention among all words and a window attention among subwords.

    A word is the mean of its subwords; the output for the word is added to each of them. ``clip``
    is the clipping distance of relative positions, of words and of subwords; None: no positions.
    """

    def __init__(self, *, width: int, n_heads: int, window: int, clip: int | None) -> None:
        super().__init__()
        self.words: SelfAttention | RelativeSelfAttention
        if clip is None:
            self.words = SelfAttention(width=width, n_heads=n_heads)
        else:
            self.words = RelativeSelfAttention(width=width, n_heads=n_heads, clip=clip)
        self.window = WindowAttention(width=width, n_heads=n_heads, window=window, clip=clip)

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Attend among words, and among subwords in windows: (T, D) -> (T, D).

        Raises ``ValueError`` if ``rows`` has no words.
        """
        words = rows.words
        if words is None:
            raise ValueError("Whole-word attention needs Rows.words: make the batch with words.")
        seen = self.words(
            word_means(x, words), LayerRows(subwords=words.layout, together=words.layout)
        )
        return seen.index_select(0, words.of_subword) + self.window(x, rows)  # type: ignore[no-any-return]


def word_means(x: Tensor, words: BatchWords) -> Tensor:
    """Compute the mean of the subwords of each word: (T, D) -> (W, D)."""
    sums = x.new_zeros(len(words.n_subwords), x.shape[1]).index_add(0, words.of_subword, x)
    return sums / words.n_subwords[:, None]


class EntityTable(nn.Module):
    """The table of entity vectors, which all layers share."""

    def __init__(self, *, n_entities: int, entity_width: int) -> None:
        super().__init__()
        self.entities = nn.Embedding(n_entities, entity_width)

    def forward(self, of_subwords: SubwordEntities) -> EntityVectors:
        """Look up the vectors of the entities that subwords know: ids (C,) -> (C, F)."""
        return EntityVectors(of_subwords.rows, self.entities(of_subwords.entities))


class CharEntityAttention(_MultiHead):
    """Self-attention in which keys and values of a subword are mixed with those of its entity.

    Equation 3: a subword t with the state h_t and the entity vector g_t has the key
    (1 − λ)(h_t W_k + b_k) + λ g_t W_ek; a subword without an entity has h_t W_k + b_k. Values are
    computed in the same way. With λ = ½, the weight of t is the geometric mean of the weights that
    the subword alone and the entity alone would have (equation 4). Without entities this equals
    ``SelfAttention``, whose parameters have the same names. (In the paper's code, a subword without
    an entity has half of row 0.)
    """

    def __init__(
        self,
        *,
        width: int,
        n_heads: int,
        entity_width: int,
        scale: float = 0.5,
        dropout: float = 0.0,
    ) -> None:
        """Create the layer; ``scale`` is λ, the ratio of the entity in keys and values."""
        super().__init__(width=width, n_heads=n_heads, dropout=dropout)
        self.scale = scale
        self.entity_key = nn.Linear(entity_width, width, bias=False)
        self.entity_value = nn.Linear(entity_width, width, bias=False)

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Attend among subwords, with keys and values mixed with entities: (T, D) -> (T, D)."""
        layout, query, key, value = rows.together, self.query(x), self.key(x), self.value(x)
        if rows.known is not None:
            key = self._mixed(key, self.entity_key, rows.known)
            value = self._mixed(value, self.entity_value, rows.known)
        query, key, value = (to_heads(part, layout, self.n_heads) for part in (query, key, value))
        return self.attend(query, key, value, layout=layout)

    def _mixed(self, projected: Tensor, project: nn.Linear, known: EntityVectors) -> Tensor:
        """Mix entity vectors, projected by ``project``, into the rows (T, D) that know an entity.

        Such a row becomes (1 − λ) row + λ entity; the other rows stay the same.
        """
        ratios = projected.new_ones(len(projected), 1)
        ratios = ratios.index_fill_(0, known.rows, 1 - self.scale)
        of_entities = project(known.vectors).to(projected.dtype)
        return torch.index_add(projected * ratios, 0, known.rows, of_entities, alpha=self.scale)
