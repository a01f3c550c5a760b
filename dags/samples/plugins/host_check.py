"""A check of ``Host`` for Airflow's API server on loopback: requests for other hosts are refused.

Otherwise a page of another site whose host name is made to resolve to this machine (DNS rebinding)
would have the same origin as Airflow.
"""

from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin
from starlette.middleware.trustedhost import TrustedHostMiddleware


class HostCheck(AirflowPlugin):
    """An Airflow plugin that adds the check as middleware."""

    name = "onoma_host_check"
    fastapi_root_middlewares: ClassVar = [
        {
            "name": "hosts",
            "middleware": TrustedHostMiddleware,
            "kwargs": {"allowed_hosts": ["localhost", "127.0.0.1"], "www_redirect": False},
        }
    ]
