"""The plan of a run, the receipts of its units, its output folder, and rejection of bad records.

Read in this order:

1. ``plan``: inputs, units, fingerprint; ``code``: what of the code is in it; ``dataset_inputs`` and
   ``named_files``: what users name.
2. ``build``: a run in its folder, from lock to publishing; ``work_directory``, ``receipts`` of
   units, ``journal``; ``on_bucket``.
3. ``duplicates``: records that occur twice; ``record_errors``: bad ones; ``plain``: datasets
   without a plan.
"""
