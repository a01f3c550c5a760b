"""Run a Python process of Beam for a worker of an engine, as ``boot`` does in Beam's images.

The engine starts it with an id and the address of a service, which gives it all other settings.
One pool of Python workers cannot serve two workers of an engine: both give their Python processes
the same ids, so that the end of one worker would end the processes of the other.
"""

import argparse
import os

import grpc
from apache_beam.portability.api import beam_provision_api_pb2 as provision
from apache_beam.portability.api import beam_provision_api_pb2_grpc as service
from apache_beam.runners.worker import sdk_worker_main
from apache_beam.runners.worker.worker_id_interceptor import WorkerIdInterceptor
from google.protobuf.json_format import MessageToJson


def main() -> None:
    """Ask the service for the settings, and run the Python process of Beam with them."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--id", required=True)
    parser.add_argument("--provision_endpoint", required=True)
    given, _ = parser.parse_known_args()
    with grpc.insecure_channel(given.provision_endpoint) as channel:
        named = grpc.intercept_channel(channel, WorkerIdInterceptor(given.id))
        request = provision.GetProvisionInfoRequest()
        info = service.ProvisionServiceStub(named).GetProvisionInfo(request).info
    os.environ |= {
        "WORKER_ID": given.id,
        "CONTROL_API_SERVICE_DESCRIPTOR": str(info.control_endpoint),
        "LOGGING_API_SERVICE_DESCRIPTOR": str(info.logging_endpoint),
        "PIPELINE_OPTIONS": MessageToJson(info.pipeline_options),
    }
    sdk_worker_main.main([])


if __name__ == "__main__":
    main()
