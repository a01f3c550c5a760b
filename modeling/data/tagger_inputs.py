"""How a tagger reads sentences: its windows, and what its gazetteer says."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from corpora.document import Sentence
from corpora.tokenizers import Tokenizer
from modeling.config import EncoderConfig
from modeling.data.gazetteer import Gazetteer
from modeling.data.sentence_collator import WordFeatures
from modeling.data.sentence_encoder import SentenceEncoder
from modeling.tagging_config import HeadConfig, SentencesConfig

GAZETTEER: Final = "gazetteer"
"""The folder beside a tagger that has its names."""
_UNLIMITED: Final = 512  # pieces of a window, where the encoder has no limit


def window_settings(
    config: SentencesConfig, head: HeadConfig, encoder: EncoderConfig
) -> SentencesConfig:
    """The settings with a length, and an overlap that leaves each span whole in one window."""
    is_limited = encoder.positions == "learned" or encoder.n_entities > 0
    limit = encoder.max_positions if is_limited else max(config.max_length, _UNLIMITED)
    length = min(config.max_length or limit, limit)
    overlap = (
        max(config.overlap, 2 * head.max_span_pieces) if head.kind == "span" else config.overlap
    )
    return replace(config, max_length=length, overlap=overlap)


def sentence_encoder(tokenizer: Tokenizer, config: SentencesConfig) -> SentenceEncoder:
    """Cuts sentences as a tagger reads them."""
    return SentenceEncoder(
        tokenizer,
        max_length=config.max_length,
        overlap=config.overlap,
        context=config.context,
        max_context=config.max_context,
    )


def features_of(sentences: Sequence[Sentence], gazetteer: Gazetteer | None) -> WordFeatures | None:
    """What a gazetteer, if there is one, says of the words of sentences."""
    if gazetteer is None:
        return None
    return gazetteer.look_up([sentence.tokens for sentence in sentences])
