"""Tables that users write: what they become, and what is said of a mistake."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

import pytest

from corpora.errors import UsageError
from corpora.system.typed_tables import TableError, Text, check_table, make


@dataclass(frozen=True)
class Pace:
    seconds: float = 1.0
    tries: int = 3


@dataclass(frozen=True)
class Site:
    url: Text
    find: tuple[Literal["feed", "sitemap"], ...] = ()
    words: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    pace: Pace = Pace()
    allow: bool | tuple[str, ...] = False
    since: date | None = None


def test_a_table_becomes_a_dataclass_with_the_types_of_its_fields():
    table = {
        "url": "a",
        "find": ["feed"],
        "words": ["b", "c"],
        "labels": {"d": ""},
        "pace": {"seconds": 2, "tries": 4.0},
        "allow": ["e"],
        "since": None,
    }

    made = make(Site, table, where="a.toml")

    assert made == Site(
        Text("a"), ("feed",), frozenset("bc"), {"d": ""}, Pace(2.0, 4), ("e",), None
    )
    assert type(made.pace.seconds) is float
    assert type(made.pace.tries) is int
    assert make(Site, {"url": "a"}, where="a.toml") == Site(Text("a"))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "url: missing. It must be a non-empty string."),
        ({"url": ""}, "url = '': must be a non-empty string."),
        ({"ulr": "a"}, "ulr: unknown (did you mean url?). There are url, find, words, labels, "),
        ({"zzz": "a"}, "zzz: unknown. There are url, "),
        ({"find": "feed"}, "find = 'feed': must be a list, each item one of feed, sitemap."),
        ({"find": ["fed"]}, "find = ['fed']: must be a list, each item one of feed, sitemap."),
        ({"words": [""]}, "words = ['']: must be a list, each item a non-empty string."),
        ({"labels": {"x": 1}}, "labels: x = 1: must be a string."),
        ({"pace": 3}, "pace = 3: must be a table."),
        ({"pace": {"trise": 3}}, "pace: trise: unknown (did you mean tries?). There are seconds, "),
        ({"pace": {"tries": 1.5}}, "pace: tries = 1.5: must be a whole number."),
        ({"pace": {"tries": True}}, "pace: tries = True: must be a whole number."),
        ({"pace": {"seconds": float("nan")}}, "pace: seconds = nan: must be a finite number."),
        ({"pace": {"seconds": 10**400}}, "must be a finite number."),
        ({"allow": 1}, "allow = 1: must be true or false or a list, each item a non-empty string."),
        ({"since": "2026"}, "since = '2026': must be a date without quotes, 2026-11-01."),
    ],
)
def test_a_mistake_is_said_with_its_place_and_what_to_write(table, said):
    with pytest.raises(UsageError) as error:
        make(Site, table, where="a.toml: site 1")

    assert str(error.value).startswith("a.toml: site 1: ")
    assert said in str(error.value)


def test_keys_and_types_need_no_dataclass():
    types = {"names": list[str], "inner": {"n": int}}

    table = {"names": ["a"], "inner": {"n": 1}}
    assert check_table(table, types, where="a.toml") == table
    with pytest.raises(TableError) as error:
        check_table({"inner": {"n": "1"}}, types, where="a.toml")
    assert (error.value.key, error.value.why) == ("n", " = '1': must be a whole number.")
