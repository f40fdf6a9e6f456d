"""A real Prometheus as a process, and its HTTP interface."""

import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml

from gpufleet_sandbox.ports import choose

PATIENCE = 120.0
"""Seconds a condition may take: far more than a busy machine needs."""

Answer = TypeVar("Answer")


class Prometheus:
    """Queries with a wait for their result: a series comes only after a scrape and an evaluation.

    A scrape that takes longer than its interval makes its series stale for a moment, so no test may
    rely on another test's result: each waits for its own condition.
    """

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"

    def get(self, path: str, **parameters: str) -> Any:
        address = f"{self.base}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]

    def ask(self, query: str) -> list[dict[str, Any]]:
        return self.get("/api/v1/query", query=query)["result"]

    def settles(self, check: Callable[[], Answer], seconds: float = PATIENCE) -> Answer:
        """Repeat a check until its assertions hold and what it looks for is there; after the
        deadline its error is raised."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return check()
            except (AssertionError, LookupError, OSError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)


@contextmanager
def prometheus_server(
    program: Path, folder: Path, configuration: dict[str, Any]
) -> Iterator[Prometheus]:
    """It runs while the context lasts; files that the configuration names lie in the folder."""
    port = choose(("prometheus",), {}, set())["prometheus"]
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                str(program),
                f"--config.file={folder / 'prometheus.yaml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        server = Prometheus(port)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                server.ask("vector(1)")
                break
            except OSError:
                said = log.read_text()[-3000:]
                assert process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.2)
        yield server
    finally:
        process.kill()
        process.wait()
