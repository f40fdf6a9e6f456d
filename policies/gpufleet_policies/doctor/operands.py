"""Operands of GPU nodes in a dump: which part a pod plays, and whether it does.

Names and labels: NVIDIA/gpu-operator `assets/state-*`, the charts of NVIDIA/k8s-device-plugin and
kubernetes-sigs/dra-driver-nvidia-gpu, GoogleCloudPlatform/container-engine-accelerators.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.observed import Seen, SeenNode, SeenPod, text
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
_IMAGES = ((Part.PLUGIN, r"/(?:k8s-device-plugin|nvidia-gpu-device-plugin)[:@]"),)


def part_of(name: str, images: tuple[str, ...]) -> Part | None:
    """The part that a pod or DaemonSet plays; None: none of these."""
    for part, form in _NAMES:
        if re.search(form, name):
            return part
    for part, form in _IMAGES:
        if any(re.search(form, image) for image in images):
            return part
    return None


def set_images(one: Seen) -> tuple[str, ...]:
    """Images of the containers of a DaemonSet."""
    template = mapping(mapping(one.spec.get("template")).get("spec"))
    return tuple(text(mapping(c).get("image")) for c in items(template.get("containers")))


def operands(cluster: Dump, node: str = "") -> list[tuple[Part, SeenPod]]:
    """Pods on nodes, or on one of them, that play a part, the parts in their order."""
    nodes = cluster.pods_on.values() if not node else [cluster.pods_on.get(node, [])]
    found = [
        (part, pod)
        for pods in nodes
        for pod in pods
        if (part := part_of(pod.name, () if pod.wants_gpus else pod.images)) is not None
    ]
    order = list(Part)
    return sorted(found, key=lambda one: (order.index(one[0]), one[1].ref))


def sets(cluster: Dump, part: Part) -> list[Seen]:
    """DaemonSets that play a part."""
    return [one for one in cluster.all("DaemonSet") if part_of(one.name, set_images(one)) is part]


def tolerates(tolerations: object, taint: Mapping[str, object]) -> bool:
    """Whether tolerations cover a taint (kubernetes `api/core/v1/toleration.go`)."""
    for one in map(mapping, items(tolerations)):
        effect, key = text(one.get("effect")), text(one.get("key"))
        if effect and effect != taint.get("effect"):
            continue
        if key and key != taint.get("key"):
            continue
        exists = one.get("operator") == "Exists"
        if not key and not exists:
            continue
        if exists or text(one.get("value")) == (taint.get("value") or ""):
            return True
    return False


KEEPS_AWAY = ("NoSchedule", "NoExecute")
"""Effects of taints that keep a pod off a node."""
_OF_NODES = "node.kubernetes.io/"
"""DaemonSets tolerate these taints by themselves (kubernetes `pkg/controller/daemon/util`)."""


def kept_by(daemon_set: Seen, node: SeenNode) -> dict[str, object] | None:
    """The first taint of a node that the pods of a DaemonSet do not tolerate."""
    template = mapping(mapping(daemon_set.spec.get("template")).get("spec"))
    for taint in node.taints:
        if taint.get("effect") not in KEEPS_AWAY or text(taint.get("key")).startswith(_OF_NODES):
            continue
        if not tolerates(template.get("tolerations"), taint):
            return taint
    return None
