"""Wikipedia dumps: pages, wikitext, titles, redirects.

Read in this order:

1. ``dump``: ranges of a dump, by ``chunks``, ``bzip2``, ``pieces``, ``segments``; ``siteinfo``, its
   head; ``pages`` and ``revisions``: the pages in it.
2. ``articles``, from a page to an article. ``structure`` is the first half of reading wikitext,
   ``wikitext`` the second; ``nesting``, ``templates``, ``parser_functions``, ``cells``;
   ``blocks``: the text.
3. ``titles``: where links lead; ``variant_titles``, in another script; ``resolution``: redirects,
   and titles that are matched in text. ``html``: rendered pages.
4. ``ledger`` and ``report``: what became of each page, link, number and template.
5. ``reuse`` and the four ``reuse_…``: pages taken over from an earlier dump.
6. ``download`` with ``fetching``; ``authority``, ``page_items``: who or what a page is about.
"""
