"""Review of an edition's names in the browser: names are accepted, changed, rejected or added.

Read in this order:

1. ``running``: one run; ``routes``: what the page asks; ``messages``; ``desk``: what a person does.
2. ``letters`` of the edition with ``names`` and ``view``; ``suggestions``; ``entries`` and
   ``candidates``: who may be meant; ``finding``, ``facsimiles``, ``overview``.
3. ``journal``: decisions; ``saving``: letters with accepted names. A decision on a file that has
   changed is refused by ``desk``, and a file that another program changed by ``saving``.
4. ``learning``: a new tagger. ``datasets`` and ``still``: pages of other kinds.
"""
