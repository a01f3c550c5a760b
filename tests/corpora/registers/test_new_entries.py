"""New entries of a register."""

import pytest

from corpora.registers.new_entries import NewEntry, NoPlaceError, next_id, with_entry
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


def test_an_entry_goes_to_its_place_in_the_alphabet_as_those_beside_it_are_written():
    entry = NewEntry(
        id="P.011", kind="person", name="Moser, Lina", note="Tante", same="gnd:118540238"
    )

    written = with_entry(REGISTER, entry, name="r.xml")

    new = b"""
    <person xml:id="P.011" source="https://d-nb.info/gnd/118540238">
      <persName type="pref">Moser, Lina</persName>
      <note>Tante</note>
    </person>"""
    assert new in written
    assert written.replace(new, b"") == REGISTER
    assert [each.id for each in read_register(written, name="r.xml").entries] == [
        *("P.009", "P.011", "P.010")
    ]


def test_a_register_without_entries_of_the_kind_has_no_place():
    with pytest.raises(NoPlaceError):
        with_entry(REGISTER, NewEntry(id="o1", kind="place", name="Ulm"), name="r.xml")
