"""Free loopback ports, kept from one start to the next where possible."""

import random
import socket
import time
from collections.abc import Iterable, Mapping

LOOPBACK = "127.0.0.1"

_RANGE = range(20_000, 32_000)
"""Below the ports that Linux (from 32768) and macOS (from 49152) give to outgoing connections: one
of those could take a chosen port in the seconds before its server starts."""

_TRIES = 200

_FREED_WITHIN_SECONDS = 1.0
"""The system may report a killed process as ended while it still closes its ports."""


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: ports of connections that ended a moment ago count as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def listens(port: int) -> bool:
    """Whether something accepts connections on this loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((LOOPBACK, port)) == 0


def choose(names: Iterable[str], recorded: Mapping[str, int], held: set[str]) -> dict[str, int]:
    """A port for every name.

    Args:
        names: What needs a port.
        recorded: Ports of the last start. One is kept when it is free, so that a kubeconfig or a
            provider that names it stays right across restarts.
        held: Names whose recorded port is in use by the very process it belongs to.
    """
    chosen: dict[str, int] = {}
    probes: list[socket.socket] = []
    patience = time.monotonic() + _FREED_WITHIN_SECONDS
    try:
        for name in names:
            port = recorded.get(name)
            if port is not None and port not in chosen.values():
                while not (kept := name in held or is_free(port)) and time.monotonic() < patience:
                    time.sleep(0.02)
                if kept:
                    chosen[name] = port
                    continue
            # All probes stay open until every name has its port: no port is given out twice.
            probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            probes.append(probe)
            chosen[name] = _bind_somewhere(probe)
    finally:
        for probe in probes:
            probe.close()
    return chosen


def _bind_somewhere(probe: socket.socket) -> int:
    for port in random.SystemRandom().sample(_RANGE, _TRIES):
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            continue
        return port
    probe.bind((LOOPBACK, 0))  # a crowded machine: whatever the system gives
    return probe.getsockname()[1]
