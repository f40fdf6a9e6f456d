"""Names, images and addresses of a report replaced, so that it can be published.

The same name has the same replacement everywhere, so that a report can still be followed. Kinds,
keys of labels, resources, reasons and versions stay.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.documents.shapes import rewritten
from gpufleet_policies.doctor.observed import SeenPod
from gpufleet_policies.doctor.snapshot import Dump

_TOKEN = re.compile(r"[A-Za-z0-9](?:[\w.:@/-]*[A-Za-z0-9])?")
_ADDRESS = re.compile(r"\b(?:\d{1,3}[.-]){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b")
_PUBLIC = frozenset(
    {"default", "kube-system", "gpu-operator", "gpu.nvidia.com", "mig.nvidia.com", "nvidia"}
)


def masker(cluster: Dump) -> Callable[[str], str]:
    """What replaces names of a dump in a text."""
    known: dict[str, str] = {}
    counts = Counter[str]()
    for name, word in _names(cluster):
        if name and name not in known and name not in _PUBLIC:
            counts[word] += 1
            known[name] = f"{word}-{counts[word]}"

    def replaced(found: re.Match[str]) -> str:
        parts = [found[0]] if found[0] in known else re.split(r"([/:@=])", found[0])
        return "".join(known.get(part, part) for part in parts)

    return lambda text: _ADDRESS.sub("x.x.x.x", _TOKEN.sub(replaced, text))


def _names(cluster: Dump) -> Iterator[tuple[str, str]]:
    for one in cluster.seen:
        yield one.namespace, "namespace"
        if one.kind != "Event":
            yield one.name, one.kind.lower()
        if isinstance(one, SeenPod):
            yield from ((image, "image") for image in one.images)
            yield from ((str(c.get("name") or ""), "container") for c in one.containers)
            yield one.owner[1], "owner"


def masked_data(value: Any, mask: Callable[[str], str]) -> Any:
    """The same in every text of plain data."""
    return rewritten(value, lambda one: mask(one) if isinstance(one, str) else one)
