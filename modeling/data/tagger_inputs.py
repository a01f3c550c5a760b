"""The inputs of a tagger: the settings of its windows, and the features from its gazetteer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypedDict

from corpora.document import Sentence
from modeling.config import ConfigError, EncoderConfig
from modeling.data.gazetteer import Gazetteer, LookedUp
from modeling.data.sentence_batches import too_long
from modeling.data.sentences import EncodedSentences
from modeling.data.tagset import TagSet
from modeling.tagging_config import HeadConfig, SentencesConfig, TaggerConfig

GAZETTEER: Final = "gazetteer"
"""The folder of the gazetteer, inside the folder of a tagger."""
ENTITIES: Final = "entities"
"""The folder of the forms of the entities that words know, inside the folder of a tagger."""
_NAMED: Final = 20  # most gold spans that a message or a manifest names
_UNLIMITED: Final = 512  # subwords of a window, if the encoder has no limit


def window_settings(
    config: SentencesConfig, head: HeadConfig, encoder: EncoderConfig
) -> SentencesConfig:
    """Set the length of windows, and an overlap of at least twice the longest candidate span.

    So each span lies whole in one window, unless ``SentenceEncoder`` reduces the overlap to half a
    window. Raises ``ConfigError`` for a length that the encoder has no positions for.
    """
    is_limited = encoder.positions == "learned" or encoder.reads_mentions
    limit = encoder.max_positions if is_limited else max(config.max_length, _UNLIMITED)
    if config.max_length > limit:
        raise ConfigError(
            f"data.max_length={config.max_length}: the encoder reads {limit} subwords at once. "
            "Longer sentences are read in windows: leave it out."
        )
    length = config.max_length or limit
    overlap = max(config.overlap, 2 * head.longest_span)
    return replace(config, max_length=length, overlap=overlap)


def span_settings(
    head: HeadConfig,
    config: SentencesConfig,
    encode: Callable[[SentencesConfig], EncodedSentences],
    *,
    encoder: EncoderConfig,
    tagset: TagSet,
) -> HeadConfig:
    """Set the longest candidate span of a span head to the longest gold span, where it is 0.

    It is at least 16 subwords, and at most a quarter of a window, so that each span lies whole in
    one of two windows.

    Args:
        head: the settings of the head.
        config: the settings of windows, of which the length need not be set.
        encode: reads the training sentences in windows.
        encoder: the settings of the encoder, which limits windows.
        tagset: the tags of the training sentences.
    """
    if not head.scores_spans or head.max_span_subwords:
        return head
    published = HeadConfig(kind="span").max_span_subwords
    windows = window_settings(config, HeadConfig(kind="span"), encoder)
    longer = too_long(encode(windows), tagset, max_subwords=published)
    longest = max((n for *_, n in longer), default=published)
    most = max(windows.max_length // 4, published)
    return replace(head, max_span_subwords=min(longest, most))


class TooLong(TypedDict):
    """The number of gold ``spans`` that a span head cannot find, and ``some`` of them by name."""

    spans: int
    some: list[str]


def name_too_long(config: TaggerConfig, encoded: EncodedSentences) -> TooLong:
    """Count and name the gold spans that a span head cannot find, as they are no candidates."""
    tagset = TagSet(config.labels)
    named = [
        f"{sentence.id}: {' '.join(sentence.tokens[span.start : span.end])} ({n} subwords)"
        for sentence, span, n in too_long(
            encoded, tagset, max_subwords=config.head.max_span_subwords
        )
    ]
    return {"spans": len(named), "some": named[:_NAMED]}


def features_of(sentences: Sequence[Sentence], gazetteer: Gazetteer | None) -> LookedUp | None:
    """Look up the words of sentences in a gazetteer; return None if there is no gazetteer."""
    if gazetteer is None:
        return None
    return gazetteer.look_up([sentence.tokens for sentence in sentences])
