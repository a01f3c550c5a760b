"""A polite crawler: news-please finds articles, a fetcher requests and archives them.

Read in this order:

1. ``session``: a crawl, begun or resumed; ``sites``, its table; ``spiders`` with ``news_please``
   and ``listings``: where articles are found.
2. ``fetcher``, by which every request passes: ``types``, ``robots``, ``pace``, ``reservations``,
   ``cookies``, ``addresses``; ``connection`` asks, and ``download_handler`` is Scrapy's way in.
3. ``archive`` with ``archive_index``: what was fetched; ``urls``: one key for a page; ``tally``:
   the report.
"""
