"""For Airflow's API server on loopback: requests for another host are refused.

A page of another site whose name is made to lead to this machine (DNS rebinding) would otherwise
be of one origin with Airflow.
"""

from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin
from starlette.middleware.trustedhost import TrustedHostMiddleware


class HostCheck(AirflowPlugin):
    """A plugin that adds the check as a middleware of Airflow."""

    name = "onoma_host_check"
    fastapi_root_middlewares: ClassVar = [
        {
            "name": "hosts",
            "middleware": TrustedHostMiddleware,
            "kwargs": {"allowed_hosts": ["localhost", "127.0.0.1"], "www_redirect": False},
        }
    ]
