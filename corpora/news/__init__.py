"""News: articles from web archives and saved pages, without boilerplate and without duplicates.

Read in this order:

1. ``pages``, from archives and saved files (``url_table``); ``reading``: one page, within bounds,
   by ``decoding`` and ``extraction``.
2. ``extraction``, from a page to an article: ``boxes`` and ``blocks``; ``tidying`` removes what is
   none of its text, by the page alone; ``page_metadata``, ``bylines``, ``rights``.
3. ``filters``: which articles are left out. ``boilerplate``: paragraphs that many pages share;
   ``near_duplicates`` with ``duplicate_groups``: articles.
4. ``rows`` and ``report``.
"""
