"""Write a synthetic dump of a wiki that takes the time, memory and disk space of a real one.

    python -m benchmarks.synthetic_wiki --articles 50000 --output build --workers 2

Lengths of articles are log-normal (median 3.4 kB, mean 7 kB, as of the English Wikipedia, which has
36 links an article). Words follow a power law that steepens, so that distinct words grow with the
0.6th power of the text. Titles are made of such words, and links lead to them by a power law; three
in ten show another text, some lead to redirects, some to nothing. An article has 1.2 redirects in
the mean, some in other scripts, and there are pages of other namespaces. References, citations,
infoboxes, tables, files, headings and categories are as dense as in the English sample. No two
articles are alike.

The dump is a bz2 multistream (a hundred pages a stream) with its index. Pages are made in chunks,
each from a seed of its own: the bytes depend on ``--articles``, ``--median``,
``--seed`` and ``--month`` alone. With ``--month 2`` a fraction of the articles is edited (eight in
ten), gone (one) or new (one), and every other page has the bytes that it had.
"""

import argparse
import bz2
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.synthetic_words import CAPITAL, PERIOD, Vocabulary, transliterated, vocabulary

ARTICLES_IN_CHUNK = 400
PAGES_IN_STREAM = 100
IDS_IN_CHUNK = 10_000
LEVEL = 1  # of bzip2; a fifth faster and a tenth larger than 9
MEDIAN, SIGMA = 3_400, 1.2
"""Parameters of the log-normal distribution of characters in an article; see ``--median``."""
CHARACTERS_OF_WORD = 9.3
"""Characters of wikitext for each word of running text, markup included."""
REDIRECTS, MAX_REDIRECTS = 1.2, 60
LINKS, REFERENCES, EMPHASES, TABLES, FILES = 0.0530, 0.0135, 0.0180, 0.0002, 0.0007
HEADINGS = 0.0028
"""How many there are for each word of running text, like the numbers in the line above."""
CHANGED = 0.02
NAMESPACES = {
    14: ("Category", 0.30), 10: ("Template", 0.12), 6: ("File", 0.12), 4: ("Wikipedia", 0.1),
    100: ("Portal", 0.02), 828: ("Module", 0.02), 12: ("Help", 0.002),
}  # fmt: skip
"""The number of each namespace, its name, and how many pages it has for each article."""
WIKI = "enwiki"
MONTHS = {1: "20261001", 2: "20261101"}
HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <generator>MediaWiki 1.47.0</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
{}    </namespaces>
  </siteinfo>
"""
PAGE = """  <page>
    <title>{title}</title>
    <ns>{ns}</ns>
    <id>{id}</id>
{redirect}    <revision>
      <id>{revision}</id>
      <parentid>{parent}</parentid>
      <timestamp>{timestamp}</timestamp>
      <contributor>
        <username>{user}</username>
        <id>{user_id}</id>
      </contributor>
      <comment>{comment}</comment>
      <origin>{revision}</origin>
      <model>{model}</model>
      <format>text/x-wiki</format>
      <text bytes="{n_bytes}" sha1="{sha1}" xml:space="preserve">{text}</text>
      <sha1>{sha1}</sha1>
    </revision>
  </page>
"""

Numbers = NDArray[np.int64]
PLAIN = np.zeros(1, np.int64)  # a code of ``Vocabulary.tokens``: a space after the word


@dataclass(frozen=True)
class Wiki:
    """The data that all chunks share: titles, and the number of redirects to each article."""

    n_articles: int
    """The number of articles in a month; higher indices are new articles of the second month."""
    seed: int = 1
    changed: float = CHANGED
    median: int = MEDIAN

    @property
    def n_new(self) -> int:
        """The number of articles that only the second month has."""
        return max(1, round(self.n_articles * self.changed / 10))

    @property
    def n_all(self) -> int:
        """The number of articles of both months together."""
        return self.n_articles + self.n_new

    @cached_property
    def words(self) -> Vocabulary:
        """The vocabulary of running text and titles."""
        return vocabulary(self.seed)

    @cached_property
    def title_ranks(self) -> NDArray[np.int64]:
        """The ranks of the words of each title, (n_all, 3), -1 for no word: 24 bytes an article."""
        rng = np.random.Generator(np.random.SFC64([self.seed, 1]))
        ranks = self.words.title_ranks(rng, 3 * self.n_all).reshape(-1, 3)
        n_words = 1 + rng.choice(3, self.n_all, p=(0.42, 0.40, 0.18))
        ranks[np.arange(3) >= n_words[:, None]] = -1
        return ranks

    @cached_property
    def brackets(self) -> NDArray[np.int32]:
        """The index of each article among those with the same title; index 0 gets no brackets."""
        ranks = self.title_ranks
        mixed = np.zeros(self.n_all, np.uint64)
        for column in ranks.T:
            mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        order = np.argsort(mixed, kind="stable")
        begins = np.flatnonzero(np.diff(mixed[order], prepend=mixed[order[0]] + np.uint64(1)))
        places = np.arange(self.n_all) - np.repeat(begins, np.diff(begins, append=self.n_all))
        brackets = np.empty(self.n_all, np.int32)
        brackets[order] = places
        return brackets

    @cached_property
    def n_redirects(self) -> NDArray[np.uint8]:
        """The number of redirects to each article: most have none, some have dozens."""
        rng = np.random.Generator(np.random.SFC64([self.seed, 2]))
        drawn = rng.pareto(1.6, self.n_all) * REDIRECTS * 0.98
        return np.minimum(drawn, MAX_REDIRECTS).astype(np.uint8)

    def targets(self, rng: np.random.Generator, n: int) -> Numbers:
        """Draw ``n`` articles that links lead to, by a power law.

        Frequent targets are spread over all article indices.
        """
        s, q = 0.92, 30.0
        low, high = q ** (1 - s), (q + self.n_articles) ** (1 - s)
        ranks = ((low + rng.random(n) * (high - low)) ** (1 / (1 - s)) - q).astype(np.int64)
        ranks = np.minimum(ranks, self.n_articles - 1)
        return (ranks * self.stride + 7) % self.n_articles

    @cached_property
    def stride(self) -> int:
        """A step through the article indices that visits each article once."""
        stride = int(self.n_articles * 0.6180339887) | 1
        while np.gcd(stride, self.n_articles) != 1:
            stride += 2
        return stride

    def titles(self, articles: Numbers) -> NDArray[np.object_]:
        """Return the titles of articles."""
        ranks = self.title_ranks[articles]
        titles = self.words.capitalised(ranks[:, 0])
        for column in (1, 2):
            has = np.flatnonzero(ranks[:, column] >= 0)
            titles[has] += " " + self.words.capitalised(ranks[has, column])
        of = self.brackets[articles]
        for number in np.flatnonzero(of).tolist():
            kind = self.words.common[300 + int(of[number]) % 97].strip()
            again = f", {int(of[number]) // 97 + 1}" if of[number] >= 97 else ""
            titles[number] += f" ({kind}{again})"
        return titles

    def template(self, first: int, second: int = 0) -> str:
        """Return the name of a template, by a power law from two random numbers."""
        n = max(10, int(self.n_articles * NAMESPACES[10][1]))
        ratio = ((first * 0x9E3779B1 + second) % (1 << 32)) / (1 << 32)
        number = int(n**ratio) - 1
        if number < 12:
            return _TEMPLATES[number % len(_TEMPLATES)]
        return f"{self.words.common[number * 7919 % 60_000].strip().capitalize()} {number}"

    def prepare(self) -> None:
        """Make all tables, before processes are copied."""
        assert len(self.title_ranks) == len(self.brackets) == len(self.n_redirects)

    def chunks(self, month: int) -> list[tuple[int, int, int]]:
        """Return the number of each chunk, and its first and last article, half-open."""
        step = ARTICLES_IN_CHUNK
        of = [(n, n + step) for n in range(0, self.n_articles, step)]
        of = [(begin, min(end, self.n_articles)) for begin, end in of]
        if month == 2:
            new = range(self.n_articles, self.n_all, step)
            of += [(begin, min(begin + step, self.n_all)) for begin in new]
        return [(number, begin, end) for number, (begin, end) in enumerate(of)]


def redirect_title(title: str, number: int) -> str:
    """Return the title of the n-th redirect to an article; no article has it."""
    words = title.split(" ")
    if number == 0 and len(words) > 1:
        return f"{words[-1]}, {' '.join(words[:-1])}"
    if number % 3 == 1:
        return transliterated(title, number // 3)
    if number % 3 == 2:
        return f"{title} {'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[number % 26]}."
    return f"{title[:1]}{title[1:].lower()} {1000 + number}"


class Chunk:
    """The pages of some articles, the redirects to them, and pages of other namespaces."""

    def __init__(self, wiki: Wiki, number: int, begin: int, *, end: int) -> None:
        self.wiki, self.number = wiki, number
        self.articles = np.arange(begin, end)
        self.rng = np.random.Generator(np.random.SFC64([wiki.seed, 3, number]))
        self.titles = wiki.titles(self.articles).tolist()

    def pages(self, month: int) -> list[tuple[int, str, str]]:
        """Return id, title and XML of each page, in the order of ids."""
        made = [*self._article_pages(), *self._redirect_pages(), *self._other_pages()]
        order = self.rng.permutation(len(made)).tolist()
        first = self.number * IDS_IN_CHUNK + 10
        changes = np.random.Generator(np.random.SFC64([self.wiki.seed, 4, self.number]))
        drawn = changes.random(len(made)).tolist()
        n_old = np.count_nonzero(self.articles < self.wiki.n_articles)
        pages = []
        for id, place in enumerate(order, start=first):
            ns, title, text, model = made[place]
            revision = 10 * id
            if month == 2 and place < n_old and drawn[place] < 0.9 * self.wiki.changed:
                if drawn[place] < 0.1 * self.wiki.changed:
                    continue
                text += f"\n\nThis is new, and leads to [[{self.titles[0]}]].\n"
                revision += 1
            xml = _xml(id, ns, title, text=text, model=model, revision=revision)
            pages.append((id, title, xml))
        return pages

    def _article_pages(self) -> Iterator[tuple[int, str, str, str]]:
        lengths = np.exp(self.rng.normal(np.log(self.wiki.median), SIGMA, len(self.articles)))
        n_words = np.maximum(lengths / CHARACTERS_OF_WORD, 12).astype(np.int64)
        edges = np.concatenate([[0], np.cumsum(n_words)])
        tokens = self._running_text(int(edges[-1]), edges[1:] - 1).tolist()
        extra = self.rng.integers(0, 1 << 30, (len(self.articles), 3))
        categories = self._categories(extra.reshape(-1) % max(self.n_of(14), 1))
        numbers = extra.tolist()
        for i, title in enumerate(self.titles):
            text = "".join(tokens[edges[i] : edges[i + 1]])
            page = self._framed(title, text, numbers[i])
            page += "".join(f"[[Category:{name}]]\n" for name in categories[3 * i : 3 * i + 3])
            yield 0, title, page, "wikitext"

    def _running_text(self, n: int, ends: Numbers) -> NDArray[np.object_]:
        """Make ``n`` words with what stands after them, and markup.

        Paragraphs also end after the words at ``ends``.
        """
        rng, words = self.rng, self.wiki.words
        stops = np.cumsum(rng.integers(8, 36, n // 8 + 2))
        stops = np.union1d(stops[stops < n], ends)
        after = np.zeros(n, np.int64)
        after[rng.integers(0, n, n // 14)] = 2  # a comma
        after[stops] = PERIOD
        after[stops[rng.random(len(stops)) < 0.2]] = 3  # a full stop, and a new paragraph
        after[ends] = 3
        is_first = np.zeros(n, np.bool_)
        is_first[0] = True
        is_first[stops[stops + 1 < n] + 1] = True
        is_first |= rng.random(n) < 0.06  # names
        tokens = words.tokens(words.ranks(rng, n), after + CAPITAL * is_first)
        self._put_links(tokens, after)
        self._put_emphases(tokens)
        self._put_references(tokens, stops)
        self._put_blocks(tokens, stops[after[stops] == 3])
        return tokens

    def _put_links(self, tokens: NDArray[np.object_], after: Numbers) -> None:
        n = len(tokens)
        places = np.unique(self.rng.integers(0, n, round(n * LINKS)))
        articles = self.wiki.targets(self.rng, len(places))
        titles = self.wiki.titles(articles).tolist()
        kinds = self.rng.random(len(places)).tolist()
        others = self.wiki.words.tokens(self.wiki.words.ranks(self.rng, len(places)), PLAIN)
        n_redirects = self.wiki.n_redirects[articles].tolist()
        ends = [(" ", ". ", ", ", ".\n\n")[code] for code in after[places].tolist()]
        links = [
            _link(title, kind, other=other.strip(), n_redirects=of) + end
            for title, kind, other, of, end in zip(
                titles, kinds, others, n_redirects, ends, strict=True
            )
        ]
        tokens[places] = links

    def _put_emphases(self, tokens: NDArray[np.object_]) -> None:
        """Put italics, and templates within a line, into the text."""
        for place in self.rng.integers(0, len(tokens), round(len(tokens) * EMPHASES)).tolist():
            word = tokens[place]
            if word[-1] == " " and word[:-1].isalpha():
                if place % 4:
                    tokens[place] = f"''{word[:-1]}'' "
                else:
                    tokens[place] = f"{{{{{self.wiki.template(place)}|{place}|km}}}} "

    def _put_references(self, tokens: NDArray[np.object_], stops: Numbers) -> None:
        n = round(len(tokens) * REFERENCES)
        words = self.wiki.words
        some = words.tokens(words.ranks(self.rng, 8 * n), PLAIN).reshape(n, 8)
        places = self.rng.choice(stops, n).tolist()
        numbers = self.rng.integers(0, 1 << 30, n).tolist()
        for place, number, of in zip(places, numbers, some.tolist(), strict=True):
            token = tokens[place]
            end = len(token) - 1 if token[-1] == " " else len(token) - 2
            tokens[place] = f"{token[:end]}{_reference(number, of)}{token[end:]}"

    def _put_blocks(self, tokens: NDArray[np.object_], paragraphs: Numbers) -> None:
        """Put headings, files and tables between paragraphs."""
        n, words = len(tokens), self.wiki.words
        counts = (round(n * HEADINGS), round(n * FILES), round(n * TABLES))
        for kind, count in enumerate(counts):
            places = self.rng.choice(paragraphs, count).tolist()
            some = words.tokens(words.ranks(self.rng, 12 * count), PLAIN)
            for place, of in zip(places, some.reshape(-1, 12).tolist(), strict=True):
                tokens[place] += _block(kind, of)

    def _framed(self, title: str, text: str, numbers: list[int]) -> str:
        """Return an article with its infobox, its first sentence and its end."""
        first, second, third = numbers
        top = ""
        if first % 100 < 45:
            top = (
                f"{{{{Infobox {_TOPICS[first % 37]}\n| name = {title}\n| image = {title}.jpg\n"
                f"| born = {{{{birth date|{1800 + first % 200}|{first % 12 + 1}|7}}}}\n"
                f"| area_km2 = {second % 9999}\n| population = {third:,}\n}}}}\n"
            )
        if second % 100 < 30:
            top += "{{Use dmy dates|date=March 2021}}\n"
        script = ""
        if third % 100 < 18:
            code = ("ru", "el", "ar", "he", "zh", "ja", "hi")[third % 7]
            script = f" ({{{{lang|{code}|{transliterated(title, third % 7)}}}}})"
        words = self.wiki.words.common
        end = "\n==References==\n{{reflist}}\n\n" if first % 7 else "\n"
        if second % 2:
            end += f"{{{{{self.wiki.template(second, third)}}}}}\n"
        opening = f"is a {words[200 + first % 5000]}of {words[200 + second % 5000].strip()}"
        return f"{top}'''{title}'''{script} {opening}. {text}{end}"

    def n_of(self, namespace: int) -> int:
        """Return the number of pages of a namespace in the whole wiki."""
        return int(self.wiki.n_articles * NAMESPACES[namespace][1])

    def _categories(self, numbers: Numbers) -> list[str]:
        """Return the names of categories."""
        words = self.wiki.words
        firsts = words.capitalised(100 + numbers % 7919)
        return list((firsts + " of " + words.rare(numbers)).tolist())

    def _redirect_pages(self) -> Iterator[tuple[int, str, str, str]]:
        for title, n in zip(
            self.titles, self.wiki.n_redirects[self.articles].tolist(), strict=True
        ):
            for number in range(n):
                to = redirect_title(title, number - 1) if number % 97 == 96 else title
                section = "#History" if number % 11 == 10 else ""
                text = f"#REDIRECT [[{to}{section}]]\n\n{{{{R from other name}}}}\n"
                yield 0, redirect_title(title, number), text, "wikitext"

    def _other_pages(self) -> Iterator[tuple[int, str, str, str]]:
        words = self.wiki.words
        for namespace, (name, ratio) in NAMESPACES.items():
            first, last = (int(of * ratio) for of in (self.articles[0], self.articles[-1] + 1))
            numbers = np.arange(first, last)
            titles = (
                self._categories(numbers)
                if namespace == 14
                else (words.rare(numbers) + " notes").tolist()
            )
            for number, title in zip(numbers.tolist(), titles, strict=True):
                start = number * 61 % 20_000
                text = "".join(words.common[start : start + 60].tolist())
                model = "Scribunto" if namespace == 828 else "wikitext"
                if namespace == 10:
                    text = f"&lt;includeonly&gt;{{{{{{1|}}}}}} {text}&lt;/includeonly&gt;"
                yield namespace, f"{name}:{title}", text, model


_TEMPLATES = ("convert", "main", "flagicon", "ill", "see also", "efn", "sfn", "nowrap")
_TOPICS = [
    "person", "settlement", "film", "album", "company", "school", "river", "mountain", "book",
    "song", "football club", "officeholder", "military conflict", "station", "ship", "airport",
    "university", "road", "building", "artist", "writer", "scientist", "election", "television",
    "video game", "newspaper", "museum", "church", "bridge", "island", "lake", "species", "enzyme",
    "language", "law", "award", "software",
]  # fmt: skip


def _link(title: str, kind: float, *, other: str, n_redirects: int) -> str:
    """Return a link to an article, shown in one of the usual ways."""
    plain = title.partition(" (")[0]
    if kind < 0.55:
        return f"[[{title}]]" if plain is title or plain == title else f"[[{title}|{plain}]]"
    if kind < 0.60:
        return f"[[{title}]]s"
    if kind < 0.68 and n_redirects:
        return f"[[{redirect_title(title, int(kind * 1e6) % n_redirects)}]]"
    if kind < 0.72:
        return f"[[{plain} {other.title()}]]"  # most likely a link to no page
    if kind < 0.73:
        return f"[[{title}#History|{plain}]]"
    if kind < 0.85:
        return f"[[{title}|{plain.lower()}]]"
    if kind < 0.93:
        return f"[[{title}|{plain.rpartition(' ')[2]}]]"
    return f"[[{title}|{other} {plain.partition(' ')[0].lower()}]]"


def _reference(number: int, words: list[str]) -> str:
    title = "".join(words[:5]).strip()
    if number % 8 == 0:
        return f'&lt;ref name="{words[0].strip()}{number % 9}" /&gt;'
    url = f"http://www.{words[5].strip()}.org/{words[6].strip()}/{number}"
    if number % 8 == 1:
        return f"&lt;ref&gt;[{url} {title}]&lt;/ref&gt;"
    year, day = 1950 + number % 76, number % 28 + 1
    return (
        f"&lt;ref&gt;{{{{cite web|url={url} |title={title} |last={words[7].strip().title()} "
        f"|date={day} May {year}|access-date={year}-05-{day:02}}}}}&lt;/ref&gt;"
    )


def _block(kind: int, words: list[str]) -> str:
    if kind == 0:
        return f"=={''.join(words[:2]).strip().capitalize()}==\n"
    if kind == 1:
        return f"[[File:{words[0].strip()}.jpg|thumb|right|{''.join(words[1:9]).strip()}]]\n"
    rows = "".join(
        f"|-\n| {word.strip()} || {len(word) * 17} || {n}\n" for n, word in enumerate(words)
    )
    return f'{{| class="wikitable"\n! Name !! Size !! Number\n{rows}|}}\n\n'


def _xml(id: int, ns: int, title: str, *, text: str, model: str, revision: int) -> str:
    redirect = ""
    if text.startswith("#REDIRECT"):
        to = text[text.index("[[") + 2 : text.index("]]")].partition("#")[0]
        redirect = f'    <redirect title="{to}" />\n'
    day = id % 28 + 1
    return PAGE.format(
        title=title,
        ns=ns,
        id=id,
        redirect=redirect,
        revision=revision,
        parent=revision - 1,
        timestamp=f"20{10 + id % 16}-{id % 12 + 1:02}-{day:02}T{id % 24:02}:{id % 60:02}:07Z",
        user=f"User{id * 7919 % 50_021}",
        user_id=id * 7919 % 50_021,
        comment=f"edit of [[{title}]]" if id % 3 else "",
        model=model,
        n_bytes=len(text),
        sha1=f"{(id * 0x9E3779B97F4A7C15F39CC0605CEDC835 + revision) % (1 << 155):031x}"[:31],
        text=text,
    )


# --- writing

_wiki: Wiki  # of this process and its forks


def _packed(work: tuple[int, int, int, int]) -> tuple[list[tuple[bytes, str]], int]:
    """Return the packed streams of a chunk, each with its lines of the index; and bytes of XML."""
    month, number, begin, end = work
    pages = Chunk(_wiki, number, begin, end=end).pages(month)
    streams, n_bytes = [], 0
    for start in range(0, len(pages), PAGES_IN_STREAM):
        some = pages[start : start + PAGES_IN_STREAM]
        xml = "".join([page[2] for page in some]).encode()
        n_bytes += len(xml)
        lines = "".join(f"{id}:{title}\n" for id, title, _ in some)
        streams.append((bz2.compress(xml, LEVEL), lines))
    return streams, n_bytes


def write_dump(wiki: Wiki, folder: Path, *, month: int, workers: int) -> tuple[Path, int]:
    """Write the dump of a month and its index; returns its path, and how many bytes of XML."""
    global _wiki  # noqa: PLW0603 - what copies of this process find
    _wiki = wiki
    wiki.prepare()
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{WIKI}-{MONTHS[month]}-pages-articles-multistream"
    path, made = folder / f"{stem}.xml.bz2", folder / f".{stem}.xml.bz2"
    names = {number: name for number, (name, _) in NAMESPACES.items()}
    spaces = "".join(
        f'      <namespace key="{number}" case="first-letter">{name}</namespace>\n'
        for number, name in names.items()
    )
    head, n_bytes = HEAD.format(spaces).encode(), 0
    work = [(month, *chunk) for chunk in wiki.chunks(month)]
    index = bz2.BZ2File(folder / f"{stem}-index.txt.bz2", "w", compresslevel=LEVEL)
    with made.open("wb") as file, index, multiprocessing.get_context("fork").Pool(workers) as pool:
        file.write(bz2.compress(head, LEVEL))
        for streams, n in pool.imap(_packed, work):
            n_bytes += n
            for packed, lines in streams:
                at = file.tell()
                index.write(
                    "".join(f"{at}:{line}" for line in lines.splitlines(keepends=True)).encode()
                )
                file.write(packed)
        file.write(bz2.compress(b"</mediawiki>\n", LEVEL))
        pool.close()
        pool.join()
    made.rename(path)
    return path, n_bytes + len(head)


def main() -> None:
    """Write a dump, and say how fast."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--articles", type=int, required=True, metavar="N")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--month", type=int, default=1, choices=(1, 2))
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--median", type=int, default=MEDIAN, metavar="CHARACTERS")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    wiki = Wiki(arguments.articles, arguments.seed, median=arguments.median)
    path, n_bytes = write_dump(
        wiki, arguments.output, month=arguments.month, workers=arguments.workers
    )
    seconds, size = time.perf_counter() - begin, path.stat().st_size
    print(
        f"{path}: {n_bytes / 1e6:.1f} MB of XML in {size / 1e6:.1f} MB, {seconds:.1f} s: "
        f"{n_bytes / 1e6 / seconds:.1f} MB/s"
    )


if __name__ == "__main__":
    main()
