"""New entries of a register."""

import pytest

from corpora.registers.new_entries import NewEntry, next_id, with_entries
from corpora.registers.reader import read_register

REGISTER = b"""<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>
  <listPerson>
    <person source="https://d-nb.info/gnd/1" xml:id="P.009">
      <persName type="pref">Adler, Ida</persName>
    </person>
    <person xml:id="P.010">
      <persName type="pref">Zorn, Max</persName>
    </person>
  </listPerson>
</body></text></TEI>"""


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["P.009", "P.010"], "P.011"),
        (["p9", "p10", "o77"], "p11"),
        (["goethe"], "person1"),
        ([], "person1"),
    ],
)
def test_the_next_id_has_the_style_of_the_register(ids, expected):
    assert next_id(ids, otherwise="person") == expected


def test_entries_go_to_their_places_in_the_alphabet_as_those_beside_them_are_written():
    entry = NewEntry(
        id="P.011", kind="person", name="Moser, Lina", note="Tante", same="gnd:118540238"
    )
    others = [
        NewEntry(id="P.012", kind="person", name="Moser, Karl"),
        NewEntry(id="o1", kind="place", name="Ulm"),
    ]

    written, left = with_entries(REGISTER, [entry, *others], name="r.xml")

    new = b"""
    <person xml:id="P.012">
      <persName type="pref">Moser, Karl</persName>
    </person>
    <person xml:id="P.011" source="https://d-nb.info/gnd/118540238">
      <persName type="pref">Moser, Lina</persName>
      <note>Tante</note>
    </person>"""
    assert new in written
    assert written.replace(new, b"") == REGISTER
    assert [each.id for each in read_register(written, name="r.xml").entries] == [
        *("P.009", "P.012", "P.011", "P.010")
    ]
    assert left == [others[1]]
