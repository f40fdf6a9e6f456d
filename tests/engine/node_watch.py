"""Changes of nodes while a test runs: every change in its order, however short it lasts."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from kubernetes import client

from tests.engine.waiting import until

Shown = TypeVar("Shown")
ROUND_SECONDS = 1
"""Timeout of a watch, which is then continued from its last event: maximum time until it ends."""


class Followed:
    """One list of the API server: its items, then every event of them in order.

    Args:
        listed: A function of the client that lists, such as `core.list_node`.
        took: Gets each event as the API writes it, in a thread.
        selection: Arguments of the list: `label_selector` and so on.
    """

    def __init__(
        self,
        listed: Callable[..., Any],
        took: Callable[[Mapping[str, Any]], None],
        selection: Mapping[str, str],
    ) -> None:
        self._listed, self._took, self._selection = listed, took, selection
        with listed(**selection, _preload_content=False) as answer:
            first = json.loads(answer.data)
        self.items: list[dict[str, Any]] = first["items"]
        """Items at the start of the watch."""
        self._version = first["metadata"]["resourceVersion"]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._over.is_set():
            with self._listed(
                **self._selection,
                watch=True,
                resource_version=self._version,
                timeout_seconds=ROUND_SECONDS,
                _preload_content=False,
            ) as answer:
                for line in answer:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise RuntimeError(f"the watch broke: {event['object']}")
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    self._took(event)


class Watched(Generic[Shown]):
    """Nodes since the creation of this object.

    Args:
        core: The cluster.
        shown: The relevant facts of a node; its argument is the node as the API writes it.
        selection: Arguments of the list of nodes: `label_selector` and so on.
    """

    def __init__(
        self,
        core: client.CoreV1Api,
        shown: Callable[[Mapping[str, Any]], Shown],
        selection: Mapping[str, str],
    ) -> None:
        self._shown = shown
        self._followed = Followed(core.list_node, self._took, selection)
        self._now = {node["metadata"]["name"]: shown(node) for node in self._followed.items}
        self.moments = [dict(self._now)]
        """State of all nodes, by name: at first, and after each relevant change."""
        self.start, self.end = self._followed.start, self._followed.end

    @property
    def now(self) -> dict[str, Shown]:
        """The last moment."""
        return self.moments[-1]

    def of(self, name: str) -> list[Shown]:
        """States of one node, in order."""
        found: list[Shown] = []
        for moment in tuple(self.moments):
            if name in moment and (not found or found[-1] != moment[name]):
                found.append(moment[name])
        return found

    def reaches(self, wanted: Callable[[dict[str, Shown]], bool]) -> None:
        """Wait until the nodes are so, and everything before that has been seen."""
        until(lambda: wanted(self.now), lambda: self.moments[-5:])

    def _took(self, event: Mapping[str, Any]) -> None:
        node = event["object"]
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
    """NVIDIA's resources that a node offers."""
    allocatable: Mapping[str, str] = node.get("status", {}).get("allocatable") or {}
    return {name: n for name, n in allocatable.items() if name.startswith("nvidia.com/")}
