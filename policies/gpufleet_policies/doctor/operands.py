"""Operands of GPU nodes in a dump: which part a pod plays, and whether it does.

Names and labels: NVIDIA/gpu-operator `assets/state-*`, the charts of NVIDIA/k8s-device-plugin and
kubernetes-sigs/dra-driver-nvidia-gpu, GoogleCloudPlatform/container-engine-accelerators.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.observed import Seen, SeenNode, SeenPod, below, entries, text
from gpufleet_policies.doctor.snapshot import Dump


class Part(StrEnum):
    """What an operand does, in the order in which each needs the one before."""

    DRIVER = "driver"
    TOOLKIT = "toolkit"
    MPS = "MPS daemon"
    PLUGIN = "device plugin"
    DISCOVERY = "feature discovery"
    MIG = "MIG manager"
    VALIDATOR = "validator"
    DRA = "DRA driver"


_NAMES = (
    (Part.DRIVER, r"nvidia-driver-daemonset|nvidia-gpu-driver|nvidia-driver-installer"),
    (Part.TOOLKIT, r"nvidia-container-toolkit"),
    (Part.MPS, r"mps-control-daemon"),
    (Part.DISCOVERY, r"gpu-feature-discovery"),
    (Part.MIG, r"nvidia-mig-manager"),
    (Part.VALIDATOR, r"nvidia-(?:operator|cuda|device-plugin)-validator"),
    (Part.DRA, r"dra-driver.*kubelet-plugin"),
    (Part.PLUGIN, r"nvidia-device-plugin|nvidia-gpu-device-plugin"),
)
_PLUGIN = re.compile(r"/(?:k8s-device-plugin|nvidia-gpu-device-plugin)[:@]")
_ORDER = {part: at for at, part in enumerate(Part)}


@cache
def part_of(name: str, images: tuple[str, ...]) -> Part | None:
    """The part that a pod or DaemonSet plays; None: none of these."""
    found = next((part for part, form in _NAMES if re.search(form, name)), None)
    return Part.PLUGIN if found is None and any(map(_PLUGIN.search, images)) else found


def _template(one: Seen) -> dict[str, Any]:
    return below(one.spec, "template.spec")


def operands(cluster: Dump, node: str = "") -> list[tuple[Part, SeenPod]]:
    """Pods on nodes, or on one of them, that play a part, the parts in their order."""
    nodes = cluster.pods_on.values() if not node else [cluster.pods_on.get(node, [])]
    pods = (pod for pods in nodes for pod in pods)
    named = ((part_of(pod.name, () if pod.wants_gpus else pod.images), pod) for pod in pods)
    found = [(part, pod) for part, pod in named if part is not None]
    return sorted(found, key=lambda one: (_ORDER[one[0]], one[1].ref))


def sets(cluster: Dump, part: Part) -> list[Seen]:
    """DaemonSets that play a part."""
    made = ((one, entries(_template(one), "containers")) for one in cluster.all("DaemonSet"))
    named = ((one, tuple(text(c.get("image")) for c in containers)) for one, containers in made)
    return [one for one, images in named if part_of(one.name, images) is part]


def tolerates(tolerations: object, taint: Mapping[str, object]) -> bool:
    """Whether tolerations cover a taint (kubernetes `api/core/v1/toleration.go`)."""

    def covers(one: Mapping[str, Any]) -> bool:
        effect, key, exists = one.get("effect"), one.get("key"), one.get("operator") == "Exists"
        value = text(one.get("value")) == (taint.get("value") or "")
        same = key == taint.get("key") if key else exists
        return same and (exists or value) and (not effect or effect == taint.get("effect"))

    return any(covers(mapping(one)) for one in items(tolerations))


KEEPS_AWAY = ("NoSchedule", "NoExecute")
"""Effects of taints that keep a pod off a node."""
_OF_NODES = "node.kubernetes.io/"
"""DaemonSets tolerate these taints by themselves (kubernetes `pkg/controller/daemon/util`)."""


def kept_by(daemon_set: Seen, node: SeenNode) -> dict[str, Any] | None:
    """The first taint of a node that the pods of a DaemonSet do not tolerate."""
    given = _template(daemon_set).get("tolerations")
    kept = (
        taint
        for taint in node.taints
        if taint.get("effect") in KEEPS_AWAY and not text(taint.get("key")).startswith(_OF_NODES)
    )
    return next((taint for taint in kept if not tolerates(given, taint)), None)
