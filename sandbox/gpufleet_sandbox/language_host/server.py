"""The host process: serves the engine until it is interrupted or the engine is gone."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

from .children import Children, end_process_group
from .lifeline import hold
from .protocol import import_definitions_only

CALLS_AT_ONCE = 128
"""Threads for calls. A running program or plugin holds one; they are created on demand."""
MESSAGE_LIMIT = 400 * 1024 * 1024
"""Bytes of one message, the engine's own limit (pulumi/pulumi sdk v3.259.0, rpcutil)."""


def serve(arguments: list[str]) -> int:
    """Serve until a shutdown request. The last argument is the engine's address.

    The first line on standard output is the port; the engine waits for it and shows later output.
    """
    engine = next((a for a in reversed(arguments) if not a.startswith("-")), "")
    children = Children()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    # Handlers run in the main thread only; the wake-up descriptor reaches it whichever thread
    # the system chose to interrupt.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    import_definitions_only()
    import grpc
    from pulumi.runtime.proto import language_pb2_grpc

    from .service import LanguageHost

    size = [("grpc.max_send_message_length", MESSAGE_LIMIT)]
    size += [("grpc.max_receive_message_length", MESSAGE_LIMIT)]
    server = grpc.server(ThreadPoolExecutor(CALLS_AT_ONCE), options=size)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageHost(engine, children), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)

    def engine_gone() -> None:
        children.close(asked=False)
        end_process_group()

    hold(engine_gone)
    received = os.read(woken, 1)
    children.close(asked=received[0] == signal.SIGINT)
    sys.stdout.flush()
    # A regular exit would wait for the threads of calls in progress.
    os._exit(0)
