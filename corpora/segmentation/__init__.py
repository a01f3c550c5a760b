"""Text to sentences, with a table for each language.

Read in this order:

1. ``sentences``: from a text to its sentences and words, by ICU, then by ``starts`` and ``stops``;
   ``tables`` and ``language_tags``: of each language; ``scripts``: of letters.
2. ``abbreviations``: learned from text. ``chinese_words``: jieba's words, which only examples for
   pre-training use; here each Han character is a word.
"""
