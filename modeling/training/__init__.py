"""Training: steps, schedules, checkpoints, logs and validation.

Read in this order:

1. ``jobs``: what is asked for; ``sources`` and ``feeding``: the batches; ``estimate``.
2. ``pretraining_run``, over ``core``, ``loop``, ``optimizer`` with ``schedules``, ``world``
   (several processes).
3. ``run_folder`` and ``checkpoints``; ``run_log`` with ``metrics``; ``records``.
4. What it has learned: ``validation``, ``baselines``, ``symptoms`` (a dead model), ``weights``.
5. ``entity_names``: entities that begin with their names; ``centering``.
"""
