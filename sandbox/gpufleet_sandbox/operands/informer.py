"""Keeping a copy of one collection: list, then watch, again whenever either ends.

Survives restarts of the API server, expired resource versions and collections that are not served
yet (the ClusterPolicy before its CRD).
"""

import threading
from collections.abc import Callable
from typing import Any

import urllib3

from gpufleet_sandbox.operands.api import Api, ApiError
from gpufleet_sandbox.operands.journal import log

WATCH_SECONDS = 240
FIRST_PAUSE = 0.3
LONGEST_PAUSE = 3.0

Key = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""


class Informer:
    """A collection's objects by key, kept current by a separate thread."""

    def __init__(self, api: Api, path: str, changed: Callable[[Key], None]) -> None:
        self._api = api
        self._path = path
        self._changed = changed
        self._lock = threading.Lock()
        self._objects: dict[Key, dict[str, Any]] = {}
        self._stop = threading.Event()
        self.synced = threading.Event()
        """Set after the first successful list, or when the collection is not served."""

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name=f"watch {self._path}", daemon=True).start()

    def stop(self) -> None:
        """Request the thread to end with its current watch."""
        self._stop.set()

    def objects(self) -> dict[Key, dict[str, Any]]:
        """A copy of the collection as last seen."""
        with self._lock:
            return dict(self._objects)

    def get(self, key: Key) -> dict[str, Any] | None:
        """One object as last seen."""
        with self._lock:
            return self._objects.get(key)

    def put(self, item: dict[str, Any]) -> None:
        """Store the server's response to our own write at once, before its watch event."""
        key = _key(item)
        with self._lock:
            if key in self._objects and not _older(item, self._objects[key]):
                self._objects[key] = item

    def add(self, item: dict[str, Any]) -> None:
        """Take an object we made ourselves, ahead of its watch event."""
        with self._lock:
            self._objects.setdefault(_key(item), item)

    def drop(self, key: Key) -> None:
        """Forget an object we removed ourselves, ahead of its watch event."""
        with self._lock:
            self._objects.pop(key, None)

    def refresh(self) -> None:
        """List once, without a thread. Raises what the API raises."""
        self._list()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            try:
                version = self._list()
                pause = FIRST_PAUSE
                while not self._stop.is_set():
                    version = self._watch(version)
            except ApiError as problem:
                if problem.status == 404:
                    self._replace([])
                    self.synced.set()
                elif problem.status != 410:
                    log("watch", f"{self._path}: {problem}")
            except (urllib3.exceptions.HTTPError, OSError, ValueError) as problem:
                if self.synced.is_set() and pause == FIRST_PAUSE:
                    log("watch", f"{self._path}: {type(problem).__name__}, trying again")
            self._stop.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _list(self) -> str:
        answer = self._api.get(self._path)
        self._replace(answer.get("items") or [])
        self.synced.set()
        return str(answer["metadata"]["resourceVersion"])

    def _replace(self, items: list[dict[str, Any]]) -> None:
        fresh = {_key(item): item for item in items}
        with self._lock:
            before, self._objects = self._objects, fresh
        for key in {**before, **fresh}:
            if _version(before.get(key)) != _version(fresh.get(key)):
                self._changed(key)

    def _watch(self, version: str) -> str:
        for event in self._api.watch(self._path, version, WATCH_SECONDS):
            item = event["object"]
            if event["type"] == "ERROR":
                raise ApiError(int(item.get("code", 500)), str(item.get("message", "")))
            version = str(item["metadata"]["resourceVersion"])
            if event["type"] == "BOOKMARK":
                continue
            key = _key(item)
            with self._lock:
                if event["type"] == "DELETED":
                    self._objects.pop(key, None)
                elif not _older(item, self._objects.get(key)):
                    self._objects[key] = item
            self._changed(key)
            if self._stop.is_set():
                break
        return version


def _key(item: dict[str, Any]) -> Key:
    metadata = item["metadata"]
    return str(metadata.get("namespace", "")), str(metadata["name"])


def _version(item: dict[str, Any] | None) -> str | None:
    return None if item is None else str(item["metadata"].get("resourceVersion"))


def _older(item: dict[str, Any], than: dict[str, Any] | None) -> bool:
    """Resource versions of one collection grow; an event may come after our own newer write."""
    if than is None or item["metadata"].get("uid") != than["metadata"].get("uid"):
        return False
    return int(item["metadata"]["resourceVersion"]) < int(than["metadata"]["resourceVersion"])
