"""A gRPC server for one provider: in the plugin's process, or in a test's own."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from gpufleet_sandbox.cloud.cloud import CloudAccount
from gpufleet_sandbox.cloud.service import StandInProvider
from gpufleet_sandbox.cloud.store import CloudFolder

CALLS_AT_ONCE = 64
"""Threads for calls; the engine makes at most `--parallel` calls at once."""
MESSAGE_LIMIT = 400 * 1024 * 1024
"""Bytes of one message, the engine's own limit (pulumi/pulumi sdk v3.259.0, rpcutil)."""


def cloud_of(name: str, folder: CloudFolder) -> CloudAccount:
    """The simulator of one cloud: `aws` or `gcp`. Raises KeyError for any other."""
    if name == "aws":
        from gpufleet_sandbox.cloud.aws.provider import AwsCloud

        return AwsCloud(folder)
    if name == "gcp":
        from gpufleet_sandbox.cloud.gcp.provider import GcpCloud

        return GcpCloud(folder)
    raise KeyError(f"no stand-in for {name!r}; there is aws and gcp")


@contextmanager
def serving(cloud: CloudAccount) -> Iterator[int]:
    """Serve on a free loopback port while the block runs. Yields the port."""
    size = [("grpc.max_send_message_length", MESSAGE_LIMIT)]
    size += [("grpc.max_receive_message_length", MESSAGE_LIMIT)]
    server = grpc.server(ThreadPoolExecutor(CALLS_AT_ONCE), options=size)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(StandInProvider(cloud), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(grace=None).wait()
