"""Discovery of new words in raw text: counts of strings, mutual information, scores and ranks.

Read in this order:

1. ``stages``: from documents to counted strings; ``streams``, the texts as symbols; ``counting``,
   in bounded memory; ``tables``, on disk.
2. ``scores``: mutual information and entropies; ``known`` and ``phrases``: what is no new word;
   ``ranking``: the result.
3. ``report``; ``words``: the dictionary by which ``corpora.matching`` finds the words in text. How
   text is cut into words does not depend on a lexicon.
"""

MARKS = ("known", "inner", "compound", "function", "name", "phrase")
"""The flags that candidates can have before they are ranked; ``ranking.py`` says what each means.

They stand here because the help of commands names them, and loads no more.
"""
