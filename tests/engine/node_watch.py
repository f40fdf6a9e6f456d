"""What becomes of nodes while a test runs: every change in its order, however short it lasts."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from kubernetes import client

from tests.engine.waiting import until

Shown = TypeVar("Shown")
ROUND_SECONDS = 1
"""After so long a watch is asked for again from where it was: the longest that ending it takes."""


class Watched(Generic[Shown]):
    """Nodes from the time it was made on.

    Args:
        core: The cluster.
        shown: What of a node matters; it is given the node as the API writes it.
        selection: Which nodes, as the list of nodes is asked for: `label_selector` and so on.
    """

    def __init__(
        self,
        core: client.CoreV1Api,
        shown: Callable[[Mapping[str, Any]], Shown],
        selection: Mapping[str, str],
    ) -> None:
        self._core: Any = core
        self._shown, self._selection = shown, selection
        first = self._asked()
        self._version = first["metadata"]["resourceVersion"]
        self._now = {node["metadata"]["name"]: shown(node) for node in first["items"]}
        self.moments = [dict(self._now)]
        """What the nodes were together, by name: at first, and after each change that shows."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow)

    @property
    def now(self) -> dict[str, Shown]:
        """The last moment."""
        return self.moments[-1]

    def of(self, name: str) -> list[Shown]:
        """What one node was, one after the other."""
        found: list[Shown] = []
        for moment in tuple(self.moments):
            if name in moment and (not found or found[-1] != moment[name]):
                found.append(moment[name])
        return found

    def reaches(self, wanted: Callable[[dict[str, Shown]], bool]) -> None:
        """Wait until the nodes are so, and everything before that has been seen."""
        until(lambda: wanted(self.now), lambda: self.moments[-5:])

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _asked(self) -> dict[str, Any]:
        with self._core.list_node(**self._selection, _preload_content=False) as answer:
            return json.loads(answer.data)

    def _follow(self) -> None:
        while not self._over.is_set():
            with self._core.list_node(
                **self._selection,
                watch=True,
                resource_version=self._version,
                timeout_seconds=ROUND_SECONDS,
                _preload_content=False,
            ) as answer:
                for line in answer:
                    self._took(json.loads(line))

    def _took(self, event: Mapping[str, Any]) -> None:
        node = event["object"]
        if event["type"] == "ERROR":
            raise RuntimeError(f"the watch of nodes broke: {node}")
        self._version = node["metadata"]["resourceVersion"]
        if event["type"] == "DELETED":
            self._now.pop(node["metadata"]["name"], None)
        else:
            self._now[node["metadata"]["name"]] = self._shown(node)
        if self._now != self.moments[-1]:
            self.moments.append(dict(self._now))


@contextmanager
def watching(
    core: client.CoreV1Api, shown: Callable[[Mapping[str, Any]], Shown], **selection: str
) -> Iterator[Watched[Shown]]:
    """Watch nodes while the block runs."""
    watched = Watched(core, shown, selection)
    watched.start()
    try:
        yield watched
    finally:
        watched.end()


def nvidia_resources(node: Mapping[str, Any]) -> dict[str, str]:
    """What a node offers of NVIDIA's resources."""
    allocatable: Mapping[str, str] = node.get("status", {}).get("allocatable") or {}
    return {name: n for name, n in allocatable.items() if name.startswith("nvidia.com/")}
