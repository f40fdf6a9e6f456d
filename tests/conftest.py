"""For every test process: Ctrl-C interrupts, examples of properties may take longer on a busy
machine, TLS sockets are closed when their peer disconnects, and two libraries that each define
`google.rpc.Status` work together.

Pulumi's component host and Google's API clients both register that message, under different file
names, and the second import in one process fails. No program of ours loads both; a test process
may, in any order. Both definitions are equal, so Pulumi's is replaced by Google's.
"""

import gc
import os
import signal
import ssl
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from google.rpc import status_pb2
from hypothesis import HealthCheck, settings

from tests.examples import examples
from tests.on_change import is_for_the_night, mark_resting
from tests.quarantine import mark_quarantined

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs deaf to Ctrl-C, and children inherit that; tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Windows of capacity in declarations are open or not on this day, whenever the tests run.
os.environ.setdefault("GPUFLEET_AT", "2026-11-23T00:00:00+00:00")

sys.modules.setdefault("pulumi.runtime.proto.status_pb2", status_pb2)

settings.register_profile(
    "unhurried",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unhurried")


LONG_ONES = (
    "tests/unit/components/test_verdicts_agree.py",
    "tests/policies/differential/test_fronts.py",
    "tests/wheel/",
)
"""Files of more than 15 seconds: run first, so that the processes end at about the same time."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage among modules and tests, which all stay: neither while they are collected
    nor with each collection later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_quarantined(items, config.rootpath)
    mark_resting(items)
    items.sort(key=lambda item: not item.nodeid.startswith(LONG_ONES))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which no test is selected: half of the engine's."""
    if "not nightly" not in (config.option.markexpr or "") or collection_path.suffix != ".py":
        return None
    return is_for_the_night(collection_path.relative_to(config.rootpath).as_posix()) or None


class _ClosedWhenReset(ssl.SSLSocket):
    """A TLS socket that is closed when its peer disconnects between connection and handshake.

    CPython (3.11 at least) raises then and leaves the socket to the garbage collector, whose
    warning fails the running test. It happens with servers that end during a health check.
    """

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        try:
            return super().recv(buflen, flags)
        except ConnectionError:
            self.close()
            raise


ssl.SSLContext.sslsocket_class = _ClosedWhenReset
