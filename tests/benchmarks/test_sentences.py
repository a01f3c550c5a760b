"""How the cases of others are read, and which of them count as cut like theirs."""

from benchmarks.sentences import language, read_paragraphs, score
from corpora.segmentation.sentences import segmenter

RUBY = r"""
RSpec.describe PragmaticSegmenter::Languages::German, '(de)' do
    it "Two sentences #001" do
      ps = PragmaticSegmenter::Segmenter.new(text: "Er sagte: \"Ja.\" Sie ging.", language: "de")
      expect(ps.segment).to eq(["Er sagte: \"Ja.\"", "Sie ging."])
    end

    it "Lists are cut otherwise here #002" do
      ps = PragmaticSegmenter::Segmenter.new(text: 'a) Das Haus b) Die Tür', language: "de")
      expect(ps.segment).to eq(['a) Das Haus', 'b) Die Tür'])
    end

    it "Line breaks #003" do
      ps = PragmaticSegmenter::Segmenter.new(text: "Das Haus\nDie Tür", language: "de")
      expect(ps.segment).to eq(["Das Haus", "Die Tür"])
    end

    it "Text that is changed #004" do
      ps = PragmaticSegmenter::Segmenter.new(text: "<b>Er kam.</b>", language: "de")
      expect(ps.segment).to eq(["Er kam."])
    end
end
"""


def test_the_cases_of_a_test_in_ruby_are_paragraphs_except_those_with_other_texts(tmp_path):
    path = tmp_path / "german_spec.rb"
    path.write_text(RUBY, "utf-8")

    cases = read_paragraphs(path)

    assert language(path) == "de"
    assert cases == [['Er sagte: "Ja."', "Sie ging."], ["a) Das Haus", "b) Die Tür"]]
    assert score(segmenter("de"), cases).equal == 1
