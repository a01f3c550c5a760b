"""Code of all DAGs: settings, commands in their own process group, assets, reports of failures.

Airflow and the standard library only: what is run is run as ``python -m …``, elsewhere.
"""
