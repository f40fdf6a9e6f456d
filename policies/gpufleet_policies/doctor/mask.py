"""Names, images and addresses of a report replaced, so that it can be published.

The same name has the same replacement everywhere, so that a report can still be followed. Kinds,
keys of labels, resources, reasons and versions stay.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from gpufleet.documents.shapes import mapping
from gpufleet_policies.doctor.observed import SeenPod
from gpufleet_policies.doctor.snapshot import Dump

_TOKEN = re.compile(r"[A-Za-z0-9](?:[\w.:@/-]*[A-Za-z0-9])?")
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b")
_IN_NAME = re.compile(r"\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}")
_PUBLIC = frozenset(
    {"default", "kube-system", "gpu-operator", "gpu.nvidia.com", "mig.nvidia.com", "nvidia"}
)
_WORDS = {
    "Node": "node",
    "Pod": "pod",
    "Namespace": "namespace",
    "Workload": "workload",
    "ClusterQueue": "queue",
    "LocalQueue": "queue",
    "NodePool": "pool",
    "NodeClaim": "machine",
}


def masker(cluster: Dump) -> Callable[[str], str]:
    """What replaces names of a dump in a text."""
    known: dict[str, str] = {}
    counts: dict[str, int] = {}

    def named(name: str, word: str) -> None:
        if name and name not in known and name not in _PUBLIC:
            counts[word] = counts.get(word, 0) + 1
            known[name] = f"{word}-{counts[word]}"

    for name, word in _names(cluster):
        named(name, word)

    def replaced(found: re.Match[str]) -> str:
        token = found[0]
        if token in known:
            return known[token]
        parts = re.split(r"([/:@=])", token)
        if len(parts) > 1:
            return "".join(known.get(part, part) for part in parts)
        return token

    def mask(text: str) -> str:
        text = _TOKEN.sub(replaced, text)
        return _IN_NAME.sub("x-x-x-x", _ADDRESS.sub("x.x.x.x", text))

    return mask


def _names(cluster: Dump) -> Iterator[tuple[str, str]]:
    for one in cluster.seen:
        yield one.namespace, "namespace"
        if one.kind != "Event":
            yield one.name, _WORDS.get(one.kind, "object")
        if isinstance(one, SeenPod):
            for image in one.images:
                yield image, "image"
            for container in one.containers:
                yield str(container.get("name") or ""), "container"
            yield one.owner[1], "owner"


def masked_data(value: Any, mask: Callable[[str], str]) -> Any:
    """The same in every text of plain data."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: masked_data(one, mask) for key, one in mapping(value).items()}
    if isinstance(value, list | tuple):
        return [masked_data(one, mask) for one in cast("Sequence[Any]", value)]
    return value
