"""Examples made in the slow obvious way, one mention after the other."""

from collections import Counter

from corpora.entities.vocabulary import UNK
from corpora.examples import mentions
from tests.corpora.entity_ids import id_of
from tests.corpora.examples.small_examples import ENTITIES, LISTS, tokenizer


def slow_subwords(text, sentence):
    """Cut a sentence into subwords: id, first and last character, whether it begins a word."""
    encoding = tokenizer().backend.encode(
        text[sentence.start : sentence.end], add_special_tokens=False
    )
    before, subwords = None, []
    for id, (start, end), word in zip(
        encoding.ids, encoding.offsets, encoding.word_ids, strict=True
    ):
        subwords.append((id, sentence.start + start, sentence.start + end, word != before))
        before = word
    return subwords


def slow_parts(subwords, length):
    while len(subwords) > length:
        starts = [n for n in range(1, length + 1) if subwords[n][3]]
        cut = starts[-1] if starts else length
        yield subwords[:cut]
        subwords = subwords[cut:]
    yield subwords


def slow_fate(mention, sentences, vocab, limits, *, min_size):
    """Return the reason why a mention is lost, or its entity, sentence and subwords there."""
    id = id_of(vocab, mention.entity) if mention.entity in ENTITIES else None
    is_rare = id is not None and vocab.table["count"][id].as_py() < limits.min_entity_count
    touched = {
        (s, n)
        for s, subwords in enumerate(sentences)
        for n, (_, start, end, _) in enumerate(subwords)
        if start < mention.end and mention.start < end
    }
    if mention.origin not in limits.origins:
        return "of_other_origins"
    if not limits.keep_unknown:
        if mention.entity is None:
            return "without_entity"
        if id is None:
            return "out_of_vocabulary"
        if is_rare:
            return "below_min_count"
    if not touched:
        return "without_subwords"
    if len({s for s, _ in touched}) > 1:
        return "crossing_sentences"
    if len(touched) > mentions.MAX_SUBWORDS:
        return "too_long"
    (s, first), (_, last) = min(touched), max(touched)
    if len(sentences[s]) < min_size:
        return "in_short_sentences"
    if id is None or is_rare:
        return UNK, s, first, last + 1
    counts = vocab.table["count"].to_pylist()[3:id]
    n_left_out = sum(count < limits.min_entity_count for count in counts)
    return id - n_left_out * (limits.min_entity_count > 1), s, first, last + 1


def slow_examples(document, vocab, how):
    """Make the examples of a document, and count lost mentions by reason.

    Examples have no names.
    """
    limits, lost = how.mentions, Counter()
    sentences = [slow_subwords(document.text, sentence) for sentence in document.sentences]
    placed = []
    for mention in document.mentions:
        fate = slow_fate(mention, sentences, vocab, limits, min_size=how.min_sentence_subwords)
        if isinstance(fate, str):
            lost[fate] += 1
        else:
            placed.append((*fate, mention.origin))
    parts = []
    for s, subwords in enumerate(sentences):
        if not subwords or len(subwords) < how.min_sentence_subwords:
            continue
        begin, inside = 0, [m for m in placed if m[1] == s]
        for part in slow_parts(subwords, how.length):
            end = begin + len(part)
            spans = {}
            for id, _, first, last, origin in inside:
                if begin <= first < end < last:
                    lost["cut_by_split"] += 1
                elif begin <= first < end and last <= end:
                    key = (first - begin, -(last - begin), id)
                    lost["double"] += key in spans
                    spans.setdefault(key, origin)
            entities = sorted(spans.items())
            lost["over_limit"] += len(entities[limits.max_entities :])
            parts.append((part, entities[: limits.max_entities]))
            begin = end
    packed = []
    for part in parts:
        together = [*packed[-1], part] if packed else []
        n_subwords, n_entities = (sum(len(p[i]) for p in together) for i in (0, 1))
        if not packed or n_subwords > how.length or n_entities > limits.max_entities:
            packed.append([part])
        else:
            packed[-1].append(part)
    return [slow_row(example) for example in packed], +lost


def slow_row(parts):
    row = {name: [] for name in (*LISTS, "entity_ends", "entity_origins")}
    for subwords, entities in parts:
        base = len(row["input_ids"])
        row["sentence_starts"].append(base)
        for n, (id, _, _, is_word_start) in enumerate(subwords):
            if is_word_start or not row["input_ids"]:
                row["word_starts"].append(base + n)
            row["input_ids"].append(id)
        for (start, end, id), origin in entities:
            row["entity_ids"].append(id)
            row["entity_starts"].append(base + start)
            row["entity_ends"].append(base - end)
            row["entity_origins"].append(origin)
    return row
