"""Wikipedia dumps: pages, wikitext, titles, redirects.

Read in this order:

1. ``dump``: ranges of a dump, by ``chunks``, ``bzip2``, ``pieces``, ``segments``; ``siteinfo``, its
   head; ``pages`` and ``revisions``: the pages in it.
2. ``articles``, from a page to an article; ``readers`` and ``settings``: of a wiki;
   ``single_page``. ``structure`` is the first half of reading wikitext, ``wikitext`` the second,
   over ``markup``, ``nesting``, ``inline_text``, ``image_options``; ``templates`` with
   ``definitions``, ``measures``, ``parser_functions``; ``blocks``: the text.
3. ``aside``: tables and boxes, which ``cells`` and ``block_rows`` read with ``--blocks``.
   ``disambiguation``: the signs of such pages. ``wikiextractor``: another engine.
4. ``titles``: where links lead; ``variant_titles``, in another script; ``resolution``: redirects,
   and titles that are matched in text, but those of ``unmatched``. ``html``: rendered pages.
5. ``ledger`` and ``report``: what became of each page, link, number and template.
6. ``reuse`` and ``reuse_places``, ``reuse_rows``, ``reuse_links``, ``reuse_shards``: pages taken
   over from an earlier dump.
7. ``download`` with ``dump_status`` and ``fetching``; ``sql_dumps``; ``authority``, ``page_items``:
   who or what a page is about.
"""
