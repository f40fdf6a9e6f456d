"""Owners of driver, container toolkit and device plugin on each node: exactly one of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpufleet.catalogue import NodeImage
from gpufleet.contract.contract_fact import ContractFact, chain, image_fact
from gpufleet.contract.operator_values import switch
from gpufleet.findings import Finding, error, findings_in
from gpufleet.spec.base import Ownership

if TYPE_CHECKING:
    from gpufleet.partition.partition import Partition
    from gpufleet.spec.addons import GpuOperator

_finding = findings_in(__file__)

PoolImage = tuple[str, str, NodeImage | None]
"""Name and path of a pool, and its image."""


class Owner(StrEnum):
    """Installer of a part of the GPU stack on a node."""

    IMAGE = "image"
    """The node image contains it, or the platform installs it."""
    GPU_OPERATOR = "gpuOperator"
    PLUGIN_CHART = "devicePlugin"
    """The device plugin's own chart."""
    NEURON_CHART = "neuronDevicePlugin"
    """AWS Neuron's chart."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Owners:
    """Installers of the parts on the nodes of one pool."""

    driver: Owner
    toolkit: Owner
    device_plugin: Owner


NEURON_OWNERS = Owners(Owner.IMAGE, Owner.NOBODY, Owner.NEURON_CHART)
"""Owners for Trainium and Inferentia: no toolkit is needed, devices are files of the kernel."""


@dataclass(frozen=True, slots=True)
class OwnedParts:
    """The parts that the operator installs in the whole cluster, from every pool's image."""

    driver: bool
    toolkit: bool
    device_plugin: bool
    plugin_chart: bool = False
    """Whether the device plugin's own chart installs it if an image lacks it."""


PARTS = (("driver", "driver"), ("toolkit", "toolkit"), ("device_plugin", "devicePlugin"))
DEPLOY_LABELS = {
    "driver": "nvidia.com/gpu.deploy.driver",
    "toolkit": "nvidia.com/gpu.deploy.container-toolkit",
    "device_plugin": "nvidia.com/gpu.deploy.device-plugin",
}
"""Node label that, set to `false`, keeps the operator from installing the part on that node
(NVIDIA gpu-operator v26.7.0 `controllers/state_manager.go`)."""
NO_OPERANDS = {"nvidia.com/gpu.deploy.operands": "false"}
"""Node label that keeps every operand of the operator off a node (same source)."""

_TWICE = {
    "driver": ContractFact(
        "the operator's driver cannot unload a driver that is in use: its pod never starts, and "
        "every operand waits for it",
        "NVIDIA/gpu-operator#126",
    ),
    "toolkit": ContractFact(
        "two toolkits write the same runtime configuration, and the last one to start wins",
        "NVIDIA GPU Operator documentation, container-toolkit",
    ),
    "device_plugin": ContractFact(
        "the kubelet keys devices by resource name: the second plugin to register replaces the "
        "first, and removing it leaves 0",
        "NVIDIA/k8s-device-plugin#255",
    ),
}
_NOBODY = ContractFact(
    "the operands wait for driver, then toolkit, then plugin: a missing part stops all of them",
    "NVIDIA/gpu-operator v26.7.0 operator-validator",
)


def cuts_mig(partitions: Iterable["Partition"]) -> bool:
    """Whether one of the partitions needs the MIG manager."""
    return any(one.mode == "mig" or one.mig_enabled for one in partitions)


def operator_installed(
    operator: "GpuOperator", parts: OwnedParts, partitions: Iterable["Partition"]
) -> bool:
    """Whether the cluster has the operator: as declared, else if the `partitions` of pools that it
    serves need it."""
    if operator.enabled is not None:
        return operator.enabled
    return parts.driver or parts.toolkit or parts.device_plugin or cuts_mig(partitions)


def decide(
    images: Sequence[PoolImage], operator: "GpuOperator", *, plugin_chart: bool = False
) -> tuple[OwnedParts, tuple[Finding, ...]]:
    """The parts that the operator must install, given each pool's (name, path, image).

    The operator installs a part if a pool's image lacks it. An explicit switch, typed or in raw
    values, must agree: on while every image has the part installs it twice, off while one lacks it
    leaves nodes without it. With `plugin_chart` the operator does not own the device plugin.
    """
    findings: list[Finding] = []
    parts: dict[str, bool] = {}
    for part, key in PARTS:
        if part == "device_plugin" and plugin_chart:
            parts[part] = False
            continue
        having = [one for one in images if one[2] is not None and getattr(one[2], part)]
        lacking = [one for one in images if one[2] is None or not getattr(one[2], part)]
        declared, path = switch(operator, part, key)
        if operator.ownership is Ownership.EXISTING and declared is None:
            parts[part] = bool(lacking)
            continue
        if declared is True and having and not lacking:
            findings.append(_twice(part, path, having))
        if declared is False and lacking:
            findings.append(_by_no_one(part, path, lacking))
        parts[part] = bool(lacking) if declared is None else declared
    if parts.get("driver"):
        findings += _without_driver_image(images)
    return OwnedParts(**parts, plugin_chart=plugin_chart), tuple(findings)


def owners(image: NodeImage | None, parts: OwnedParts) -> Owners:
    """Installers of the parts on nodes with this image."""

    def owner(part: str) -> Owner:
        if image is not None and getattr(image, part):
            return Owner.IMAGE
        if part == "device_plugin" and parts.plugin_chart:
            return Owner.PLUGIN_CHART
        return Owner.GPU_OPERATOR if getattr(parts, part) else Owner.NOBODY

    return Owners(owner("driver"), owner("toolkit"), owner("device_plugin"))


def deploy_labels(image: NodeImage | None) -> dict[str, str]:
    """Labels that keep the operator from installing parts that this image has.

    They follow from the image alone: a pool's nodes must not change when another pool is added that
    needs the part.
    """
    if image is None:
        return {}
    return {label: "false" for part, label in DEPLOY_LABELS.items() if getattr(image, part)}


def _image_facts(images: Sequence[PoolImage]) -> list[ContractFact]:
    named = ((name, image) for name, _, image in images[:3] if image is not None)
    return [image_fact(name, image.key, image.brings) for name, image in named]


def _twice(part: str, path: str, having: Sequence[PoolImage]) -> Finding:
    word = part.replace("_", " ")
    facts = _image_facts(having)
    facts.append(ContractFact(f"the operator is configured to install the {word} too", path))
    first = having[0][2]
    if part == "driver" and first is not None and not first.operator_may_install_driver:
        facts.append(
            ContractFact(
                f"no driver container is published for {first.key}: its pods end in "
                "ImagePullBackOff or refuse the system",
                "NVIDIA/gpu-operator#686",
            )
        )
    facts.append(_TWICE[part])
    return error(
        f"{part.replace('_', '-')}-installed-twice",
        path,
        f"the operator would install the {word} on nodes whose image already has it: "
        f"{_images(having)}",
        f"remove the line, or write {path}: false",
        pools=[name for name, _, _ in having],
        facts=chain(*facts),
    )


def _by_no_one(part: str, path: str, lacking: Sequence[PoolImage]) -> Finding:
    word = part.replace("_", " ")
    names = [name for name, _, _ in lacking]
    facts = _image_facts(lacking)
    return error(
        f"{part.replace('_', '-')}-installed-by-nobody",
        path,
        f"the image of {', '.join(names)} has no {word}, and the operator is configured "
        "not to install it: no GPU would ever be advertised there",
        "remove the line, or choose an image that has it",
        pools=names,
        facts=chain(
            *facts, ContractFact(f"the operator does not install the {word}", path), _NOBODY
        ),
    )


def _without_driver_image(images: Sequence[PoolImage]) -> list[Finding]:
    """Pools that need a driver container that is not published for their system."""
    return [
        _finding(
            "driver-not-for-this-image",
            path,
            name=name,
            found=image.key,
            facts=chain(image_fact(name, image.key, image.brings)),
        )
        for name, path, image in images
        if image is not None and not image.driver and not image.operator_may_install_driver
    ]


def _images(images: Sequence[PoolImage]) -> str:
    named = [f"{name} ({image.key})" for name, _, image in images if image is not None]
    return ", ".join(named[:5]) + (", ..." if len(named) > 5 else "")
