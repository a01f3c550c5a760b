"""Discovery of new words in raw text: counts of strings, mutual information, scores and ranks."""

MARKS = ("known", "inner", "compound", "function", "name", "phrase")
"""The flags that candidates can have before they are ranked; ``ranking.py`` says what each means.

They stand here because the help of commands names them, and loads no more.
"""
