"""Near duplicates: exactly those that a comparison of all texts with all finds."""

import random
import unicodedata
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.hashing.shingles import (
    N_HASHES,
    fingerprint,
    jaccard,
    shingles_of,
    signature,
    signature_matrix,
    words_of,
)
from corpora.news.boilerplate import in_partitions
from corpora.news.duplicate_groups import (
    ROUNDS,
    ArticleShard,
    entries_of,
    is_settled,
    join,
    links_of,
    spread,
)
from corpora.news.near_duplicates import (
    CONTAINED,
    EXACT,
    ComparedArticle,
    decide,
    find_duplicates,
    signature_row,
)
from corpora.runs.work_directory import WorkDirectory


def item(text, *, moment="", number=0, is_new=True, url=""):
    words = words_of(text)
    order = (is_new, moment, url, fingerprint(words).hex(), str(number))
    return ComparedArticle(order, fingerprint(words), signature(shingles_of(words)))


def duplicates_of(texts, *, threshold=0.8, moments=None, old=()):
    items = [
        item(text, moment=(moments or {}).get(text, ""), number=n, is_new=n not in old)
        for n, text in enumerate(texts)
    ]
    return find_duplicates(items, texts.__getitem__, threshold=threshold)


@pytest.mark.parametrize(
    "words",
    [
        ["कमल", "कोमल", "क़लम", "हिन्दी"],
        ["বাংলা", "ગુજરાતી", "ਪੰਜਾਬੀ", "ଓଡ଼ିଆ"],
        ["தமிழ்", "తెలుగు", "ಕನ್ನಡ", "മലയാളം"],
        ["ශ්\u200dරී", "ലങ്ക", "ꯃꯤꯇꯩ", "कि"],
    ],
)
def test_words_have_their_vowel_signs(words):
    assert words_of(f"।{words[0]} {words[1]}, «{words[2]}»\n{words[3]}॥") == [
        unicodedata.normalize("NFKC", word) for word in words
    ]


@pytest.mark.parametrize(("one", "other"), [("कमल", "कोमल"), ("𑄇𑄨", "𑄇𑄪")])
def test_texts_that_differ_in_vowel_signs_have_other_shingles(one, other):
    first, second = (shingles_of(words_of(f"यह {word} फूल है")) for word in (one, other))

    assert not first & second


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Das ist's: Äpfel_2, e\u0301t\u00e9", ["das", "ist", "s", "äpfel", "2", "été"]),
        ("林震2年", ["林", "震", "2", "年"]),
        ("ไทยน้ำ", ["ไ", "ท", "ย", "น", "้", "ํ", "า"]),
        ("မြန်", ["မ", "ြ", "န", "်"]),
        ("مُحَمَّد", ["م", "ح", "م", "د"]),
        ("می\u200cروم", ["می", "روم"]),
        ("་བོད་ལྷ་ས", ["བོད", "ལྷ", "ས"]),
    ],
)
def test_words_of_other_scripts(text, words):
    assert words_of(text) == words


def planted(n_articles, *, seed=1):
    """Make texts, a third of them earlier ones with up to a fifth of the words changed."""
    rng = random.Random(seed)
    words = [f"w{n}" for n in range(5_000)]
    texts = []
    for _ in range(n_articles):
        if texts and rng.random() < 0.33:
            changed = rng.choice(texts).split()
            for place in range(rng.randrange(len(changed) // 5)):
                changed[place] = rng.choice(words)
            texts.append(" ".join(changed))
        else:
            texts.append(" ".join(rng.choices(words, k=rng.randrange(80, 200))))
    return texts


def slowly(texts, moments, threshold):
    """Find near duplicates by comparing all texts with all, in order of time."""
    order = sorted(range(len(texts)), key=lambda n: moments[texts[n]])
    sets = [{tuple(w[i : i + 3]) for i in range(len(w) - 2)} for w in map(str.split, texts)]
    kept, gone = [], {}
    for number in order:
        for other in kept:
            both = len(sets[number] & sets[other])
            if both / (len(sets[number]) + len(sets[other]) - both) >= threshold:
                gone[number] = other
                break
        else:
            kept.append(number)
    return gone


@pytest.mark.parametrize("threshold", [0.7, 0.8, 0.95])
def test_duplicates_are_those_of_a_comparison_of_all_with_all(threshold):
    texts = list(dict.fromkeys(planted(300)))
    rng = random.Random(2)
    moments = {text: f"{rng.random():.9f}" for text in texts}

    found = duplicates_of(texts, threshold=threshold, moments=moments)

    assert {duplicate.index: duplicate.duplicate_of for duplicate in found} == slowly(
        texts, moments, threshold
    )
    assert found


def test_what_is_kept_does_not_depend_on_the_order():
    texts = planted(120)
    moments = {text: f"{hash_:.9f}" for text, hash_ in zip(texts, _ratios(len(texts)), strict=True)}
    shuffled = random.Random(3).sample(texts, k=len(texts))

    kept = []
    for some in (texts, shuffled):
        gone = {duplicate.index for duplicate in duplicates_of(some, moments=moments)}
        kept.append(sorted(text for number, text in enumerate(some) if number not in gone))

    assert kept[0] == kept[1]
    assert len(kept[0]) < len(texts)


def _ratios(n):
    rng = random.Random(4)
    return [rng.random() for _ in range(n)]


def test_the_earliest_is_kept_and_case_and_marks_make_no_difference():
    texts = ["Ein Text, der zweimal da ist.", "ein text der ZWEIMAL da ist", "Ein anderer ganz."]
    moments = {texts[0]: "2026-10-06", texts[1]: "2026-10-05", texts[2]: "2026-10-04"}

    [duplicate] = duplicates_of(texts, moments=moments)

    assert (duplicate.index, duplicate.duplicate_of, duplicate.kind) == (0, 1, EXACT)


def test_what_is_kept_is_never_a_duplicate_itself():
    texts = planted(200) + planted(200)

    found = duplicates_of(texts)

    assert not {duplicate.index for duplicate in found} & {
        duplicate.duplicate_of for duplicate in found
    }


def test_an_article_of_an_earlier_dataset_stays_and_its_double_goes():
    texts = planted(30)[:1] * 2

    [duplicate] = duplicates_of(texts, moments={texts[0]: ""}, old={1})

    assert (duplicate.index, duplicate.duplicate_of) == (0, 1)


def test_above_one_only_exact_duplicates_go():
    text = planted(1)[0]
    near = text + " noch drei Wörter"

    found = duplicates_of([text, near, text.upper()], threshold=1.1)

    assert [duplicate.kind for duplicate in found] == [EXACT]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=40), st.data())
def test_signatures_estimate_jaccard(words, data):
    others = data.draw(st.permutations(words))
    a, b = shingles_of(words), shingles_of(others)

    one, other = signature_matrix([signature(a), signature(b)])

    estimate = (one == other).mean()
    assert abs(estimate - jaccard(a, b)) <= 6 * 0.5 / N_HASHES**0.5


def test_characters_are_words_where_there_are_no_spaces():
    assert words_of("促进航天，Raum 2026") == ["促", "进", "航", "天", "raum", "2026"]


def versions(*texts, urls=("https://a.example/b", "https://a.example/b"), old=()):
    items = [
        item(text, moment=str(n), number=n, url=url, is_new=n not in old)
        for n, (text, url) in enumerate(zip(texts, urls, strict=True))
    ]
    return [
        (d.index, d.duplicate_of) for d in find_duplicates(items, texts.__getitem__, threshold=0.8)
    ]


FIRST, LATER, OTHER = (" ".join(f"{letter}{n}" for n in range(120)) for letter in "abc")


def test_an_article_that_grew_under_its_address_is_one():
    grown = f"{FIRST} {LATER}"

    assert versions(FIRST, grown) == [(1, 0)]
    assert versions(grown, FIRST) == [(1, 0)]
    assert versions(FIRST, grown, urls=("https://a.example/b", "https://a.example/c")) == []
    assert versions(FIRST, grown, urls=("", "")) == []


def test_another_article_under_the_same_address_stays():
    assert versions(FIRST, OTHER) == []


def test_what_is_kept_of_an_address_of_an_earlier_dataset_is_the_earlier():
    assert versions(f"{FIRST} {LATER}", FIRST, old=(0,)) == [(1, 0)]
    assert versions(f"{FIRST} {LATER}", FIRST, old=(0, 1)) == []


def paragraph(rng, n_words=40):
    return " ".join(f"wort{rng.randrange(9_999)}" for _ in range(n_words)) + "."


def contained_of(texts, *, urls=None, old=()):
    items = []
    for number, text in enumerate(texts):
        url = urls[number] if urls else f"https://www.x.example/{number}"
        row = signature_row(
            {"id": str(number), "url": url, "timestamp": None, "metadata": []}, text
        )
        order = (number not in old, f"{number:04}", url, row["exact"].hex(), str(number))
        items.append(ComparedArticle(order, row["exact"], row["signature"], row["paragraphs"]))
    found = find_duplicates(items, texts.__getitem__, threshold=0.8)
    return {(one.index, one.duplicate_of, one.kind) for one in found}


def test_an_article_inside_of_a_longer_one_of_its_site_goes_whichever_is_older():
    rng = random.Random(1)
    one, two, three = (paragraph(rng) for _ in range(3))
    long = "\n".join([three, one, two, paragraph(rng)])

    assert contained_of([f"{one}\n{two}", long]) == {(0, 1, CONTAINED)}
    assert contained_of([long, f"{one}\n{two}"]) == {(1, 0, CONTAINED)}


def test_an_article_of_another_site_or_with_text_of_its_own_stays():
    rng = random.Random(2)
    one, two = paragraph(rng), paragraph(rng)
    long = "\n".join([one, *(paragraph(rng) for _ in range(3))])

    assert not contained_of([one, long], urls=["https://x.example/1", "https://y.example/2"])
    assert not contained_of([one, long], urls=["", ""])
    assert not contained_of([f"{one}\n{two}", long])


def test_what_stood_in_an_article_that_is_contained_stands_in_the_one_that_is_kept():
    rng = random.Random(3)
    one, two, three = (paragraph(rng) for _ in range(3))
    texts = [one, f"{one}\n{two}", f"{one}\n{two}\n{three}\n{paragraph(rng)}", one]

    found = contained_of(texts)

    assert found == {(0, 2, CONTAINED), (1, 2, CONTAINED), (3, 2, EXACT)}


def test_an_article_of_an_earlier_dataset_stays_though_a_new_one_contains_it():
    rng = random.Random(4)
    one, two = paragraph(rng), paragraph(rng)
    long = "\n".join([one, two, paragraph(rng)])

    assert not contained_of([one, long], old=[0])
    assert contained_of([long, one], old=[0]) == {(1, 0, CONTAINED)}


def rows_of(texts, *, n_old=0):
    """Return rows for ``decide``, some of them with the address of the one before."""
    rows = []
    for number, text in enumerate(texts):
        url = f"https://www.x.example/{number - number % 7 // 6}"
        row = {"id": str(number), "url": url, "timestamp": None, "metadata": []}
        place = {"ref": number, "unit": -1 if number < n_old else 0, "row": number, "text": text}
        rows.append(signature_row(row, text) | place)
    return rows


@pytest.mark.parametrize("n_partitions", [1, 3, 50])
def test_groups_compared_alone_give_the_duplicates_of_all(tmp_path, n_partitions):
    rng = random.Random(5)
    shared = [paragraph(rng) for _ in range(8)]
    texts = [*planted(120), *planted(40)]
    texts += ["\n".join(rng.sample(shared, k=rng.randrange(1, 6))) for _ in range(40)]
    rows = rows_of(texts, n_old=20)

    found = [row for group in groups_of(tmp_path, rows, n_partitions) for row in decide_all(group)]

    assert by_row(found) == by_row(decide_all(rows))
    assert {row["kind"] for row in found} == {"exact", "near", "contained"}


def decide_all(rows):
    return decide(rows, threshold=0.8)


def by_row(duplicates):
    return sorted(duplicates, key=lambda row: row["row"])


def groups_of(folder, rows, n_partitions):
    """Group rows as the shuffles of a run do; each row is in a shard of its own number."""
    work = WorkDirectory(folder)
    work.place("signatures", 0).parent.mkdir(parents=True)
    columns = SCHEMAS["news_signatures"].columns
    with ShardWriter(work.place("signatures", 0), SCHEMAS["news_signatures"]) as shard:
        shard.write_batch(
            pa.RecordBatch.from_pylist(
                [{n: row[n] for n in columns.names} for row in rows], columns
            )
        )
    entries = entries_of(ArticleShard(0, "articles", 0), work, threshold=0.8)
    links = [
        link
        for _, part in in_partitions(entries, by="key", n_partitions=n_partitions)
        for link in links_of([part], threshold=0.8)
    ]
    groups = {}
    for ref, least in after_rounds(links, n_rounds=ROUNDS).items():
        groups.setdefault(least, []).append(rows[ref])
    return groups.values()


def after_rounds(links, *, n_rounds):
    """Map each article to the least of its group, as the steps of ``find_duplicates`` do."""
    for _ in range(n_rounds):
        links = [link for known in grouped(links).items() for link in spread(*known)]
    known = grouped(links)
    roots = join([[ref, *others] for ref, others in known.items() if not is_settled(ref, others)])
    return {ref: roots.get(min(others), min(others)) for ref, others in known.items()}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=60), st.integers(1, 3))
def test_chains_longer_than_the_rounds_reach_are_one_group(pairs, n_rounds):
    chain = list(pairwise(range(100, 200)))
    links = [sorted(pair, reverse=True) for pair in [*pairs, *chain]]
    links += [(ref, ref) for pair in links for ref in pair]

    groups = after_rounds(links, n_rounds=n_rounds)

    assert groups == join(links)
    assert {groups[ref] for ref in range(100, 200)} == {100}


def grouped(links):
    known = {}
    for ref, other in links:
        known.setdefault(ref, []).append(other)
    return known
