"""Names written into TEI beside those that are there, of people or of an earlier run."""

from tests.corpora.tei.writer.written_names import body, find, reasons, tei, write


def test_only_new_leaves_every_touched_name_alone(edition):
    data = tei("<p><placeName>Goethehaus</placeName> Walden</p>")
    nested, free = find(data, edition, "Goethe"), find(data, edition, "Walden")

    written = write(data, edition, nested, free, existing="only-new")

    assert reasons(written) == ["touches a name that is there"]
    assert body(written) == "<p><placeName>Goethehaus</placeName> <persName>Walden</persName></p>"


def test_replace_predicted_writes_what_is_written_into_the_original(edition):
    data = tei("<p>Goethe und <persName>Walden</persName></p>")
    first = write(data, edition, find(data, edition, "und"))
    name = find(data, edition, "Goethe")

    again = write(first.data, edition, name, existing="replace-predicted")

    assert again.data == write(data, edition, name).data


def test_a_second_run_of_the_same_model_adds_nothing(edition):
    data = tei("<p><hi>von Go</hi>ethe und Walden</p>")
    names = [find(data, edition, "Goethe"), find(data, edition, "Walden")]
    once = write(data, edition, *names)

    twice = write(once.data, edition, *names)

    assert twice.data == once.data
    assert reasons(twice) == ["a name is there already"] * 2


def test_a_second_run_that_finds_more_says_once_who_found_it(edition):
    data = tei("<p><hi>von Go</hi>ethe und <hi>von Wal</hi>den</p>")
    once = write(data, edition, find(data, edition, "Goethe"))

    twice = write(once.data, edition, find(data, edition, "Walden"))

    assert (
        twice.data
        == write(data, edition, *(find(data, edition, n) for n in ("Goethe", "Walden"))).data
    )
