"""Code of all DAGs: settings, commands in their own process group, assets, reports of failures.

It imports only Airflow and the standard library: the work is done by commands, ``python -m …``,
which may run in another environment.
"""
