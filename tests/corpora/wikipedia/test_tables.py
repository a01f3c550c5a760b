"""The tables of data: errors in TOML files that no type checker sees."""

import re
import tomllib
from pathlib import Path

import pytest

from corpora.wikipedia.titles import namespaces_of

FOLDER = Path(__file__).resolve().parents[3] / "corpora" / "wikipedia"
FILES = sorted((FOLDER / "templates").glob("*.toml"))
PROJECTS = ["wikinews", "wikiquote", "wikisource", "wikivoyage", "wiktionary"]
LANGUAGES = [file.stem for file in FILES if file.stem not in {"common", *PROJECTS}]
WIKIS, NAMESPACES, IMAGE_OPTIONS, DISAMBIGUATION = (
    tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    for name in ("wikis", "namespaces", "image_options", "disambiguation")
)

ESCAPED = re.compile(r"\\[\[\]{}\\]")
FIELD = re.compile(r"\{([^{}]*)\}")
PARAMETER = r"[^\s\[\]{}|:,=*](?:[^\[\]{}|:,=*]*[^\s\[\]{}|:,=*])?"
KNOWN = re.compile(
    rf"(?:{PARAMETER}|\d*\*)(?:\|(?:{PARAMETER}|\d*\*))*"
    rf"|(?:date|american):{PARAMETER}(?:,{PARAMETER}){{0,2}}"
    rf"|age:{PARAMETER}(?:,{PARAMETER}){{0,5}}"
    r"|convert(?::names)?|coord|fraction"
)


def load(file):
    return tomllib.loads(file.read_text("utf-8"))


def one_form(name):
    name = " ".join(name.replace("_", " ").split())
    return name[:1].upper() + name[1:]


def names_of(table, section):
    if section == "render":
        return list(table.get("render", {}))
    return table.get(section, {}).get("names", [])


def repeated(names):
    return {name for name in names if names.count(name) > 1}


def faults(recipe):
    """Return what is wrong with a recipe; empty if nothing is."""
    plain = ESCAPED.sub("", recipe)
    depth = 0
    for mark in re.findall(r"[\[\]]", FIELD.sub("", plain)):
        depth += 1 if mark == "[" else -1
        if depth < 0:
            return "a ] that closes nothing"
    if depth:
        return "a [ that is not closed"
    if re.search(r"[{}]", FIELD.sub("", plain)):
        return "a brace without its partner"
    unknown = [field for field in FIELD.findall(plain) if not KNOWN.fullmatch(field)]
    return f"no such field: {unknown}" if unknown else ""


def test_tables_of_the_dumps_exist():
    expected = "als common da de en es fo fr it ja ltg nds nl nn no simple sv uk zh"

    assert [file.stem for file in FILES] == expected.split()[:-1] + PROJECTS + ["zh"]


def test_sections_and_keys_are_those_of_the_format():
    for file in FILES:
        table = load(file)
        assert set(table) <= {"render", "dates", "silent", "footnotes"}, file
        assert set(table.get("footnotes", {})) <= {"text", "short", "several", "named"}, file
        assert set(table.get("silent", {})) <= {"names"}, file
        assert all(isinstance(recipe, str) for recipe in table["render"].values()), file


def test_dates_have_twelve_months_and_all_parts():
    for lang in LANGUAGES:
        dates = load(FOLDER / "templates" / f"{lang}.toml")["dates"]
        assert set(dates) - {"american_format"} == {"months", "format", "month_format"}, lang
        assert len(set(dates["months"])) == 12, lang
        for form in (dates["format"], dates.get("american_format", dates["format"])):
            assert set(FIELD.findall(form)) == {"day", "month", "year"}
        assert set(FIELD.findall(dates["month_format"])) == {"month", "year"}, lang


def test_recipes_are_well_formed():
    for file in FILES:
        recipes = load(file)["render"]
        wrong = {name: fault for name, recipe in recipes.items() if (fault := faults(recipe))}
        assert not wrong, file


@pytest.mark.parametrize(
    "recipe", ["{1", "1}", "[{1}", "{1}]", "{1:2}", "{day:1}", "{date:1,2,3,4}", "{}", "{ 1}"]
)
def test_faults_of_recipes_are_found(recipe):
    assert faults(recipe)


def test_names_are_unique_up_to_the_first_letter_and_underscores():
    for file in FILES:
        for section in ("render", "silent"):
            names = [one_form(name) for name in names_of(load(file), section)]
            assert all(names), file
            assert not repeated(names), file


def test_no_template_has_two_roles():
    for file in FILES:
        table = load(file)
        render, silent = (
            {one_form(name) for name in names_of(table, section)}
            for section in ("render", "silent")
        )
        code = "all" if file.stem == "common" else file.stem
        disambiguation = {one_form(name) for name in DISAMBIGUATION["templates"].get(code, ())}
        assert not render & silent, file
        assert not disambiguation & (render | silent), file


def test_languages_of_templates_are_known_with_their_namespaces():
    for lang in LANGUAGES:
        assert lang in WIKIS["languages"], lang
        assert lang in NAMESPACES, lang


def test_wikis_has_the_sections_of_its_readers():
    assert set(WIKIS) == {
        "languages", "projects", "siblings", "editions", "codes", "trails", "transclusions",
        "variants",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["languages", "projects"])
def test_prefixes_are_sorted_unique_and_lower_case(name):
    prefixes = WIKIS[name]

    assert prefixes == sorted(set(prefixes))
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", prefix) for prefix in prefixes)


def test_no_prefix_is_a_language_and_a_project():
    assert not set(WIKIS["languages"]) & set(WIKIS["projects"])


def test_trails_are_letters_that_a_character_class_can_hold():
    trails = {lang: trail for lang, trail in WIKIS["trails"].items() if lang != "none"}

    assert WIKIS["trails"]["none"] == sorted(set(WIKIS["trails"]["none"]))
    assert not set(WIKIS["trails"]["none"]) & set(trails)
    for trail in trails.values():
        letters = re.compile(f"[a-z{trail}]+")
        assert not letters.search(" \t\n.,;:!?()[]{}|<>'\"«»“”0123456789-")


def test_trails_hold_the_letters_of_the_language():
    words = {"de": "straßenüber", "da": "æøå", "uk": "їєіґьщ", "ltg": "ļūžā", "ru": "ёъя"}

    for lang, word in words.items():
        assert re.fullmatch(f"[a-z{WIKIS['trails'][lang]}]+", word), lang


def test_languages_of_trails_variants_and_namespaces_are_known():
    known = set(WIKIS["languages"])
    used = {*WIKIS["trails"], *WIKIS["trails"]["none"], *WIKIS["variants"], *NAMESPACES}

    assert used - {"none", "canonical"} <= known


def test_names_of_namespaces_mean_one_number():
    for lang in NAMESPACES:
        namespaces = NAMESPACES[lang]
        names = [name.lower() for aliases in namespaces.values() for name in aliases]
        assert all(re.fullmatch(r"-[12]|\d+", number) for number in namespaces), lang
        assert all(name == " ".join(name.replace("_", " ").split()) for name in names), lang
        assert not repeated(names), lang


def test_namespaces_hold_old_aliases():
    aliases = """
    canonical:Image:6 canonical:Image_talk:7 da:Billede:6 de:Bild:6 fr:Catégorie:14 it:Immagine:6
    ja:画像:6 jv:Gambar:6 mn:Зураг:6 ms:Imej:6 map-bms:Gambar:6 ltg:Kategoreja:14 nl:Afbeelding:6
    uk:Зображення:6 zh:分類:14
    """

    for lang, name, number in (alias.split(":") for alias in aliases.split()):
        assert name.replace("_", " ") in NAMESPACES[lang][number], lang


def test_each_table_of_namespaces_is_found_without_the_others():
    for code, numbers in NAMESPACES.items():
        expected = {name.lower(): int(n) for n, names in numbers.items() for name in names}
        assert namespaces_of(code) == expected, code


def test_codes_and_tables_of_disambiguation_and_image_options_name_known_wikis():
    known = set(WIKIS["languages"])

    assert set(WIKIS["codes"]) <= known
    assert set(DISAMBIGUATION) == {"words", "qualifiers", "templates", "categories"}
    assert {*DISAMBIGUATION["templates"], *DISAMBIGUATION["categories"]} <= known | {"all"}
    assert set(IMAGE_OPTIONS["fallbacks"]) <= known
    assert {code for used in IMAGE_OPTIONS["fallbacks"].values() for code in used} <= {
        *IMAGE_OPTIONS
    }


def test_templates_of_disambiguation_are_unique_and_no_set_index():
    for code in DISAMBIGUATION["templates"]:
        names = [one_form(name) for name in DISAMBIGUATION["templates"][code]]
        assert all(names), code
        assert not repeated(names), code
        assert not {"Surname", "Given name", "SIA", "Shipindex", "Mountainindex"} & set(names), code


def test_words_of_disambiguation_stand_between_underscores():
    assert all(re.fullmatch("__[^_].*[^_]__", word) for word in DISAMBIGUATION["words"])


def test_disambiguation_is_known_in_most_wikis_with_articles():
    assert len(DISAMBIGUATION["templates"]) > 200
    assert {"el", "vi", "mr", "ceb", "ru", "fa", "ko", "tr"} <= set(DISAMBIGUATION["templates"])
