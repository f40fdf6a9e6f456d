"""Who brings driver, container toolkit and device plugin to each node: exactly one of them each."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpufleet.catalogue.model import NodeImage
from gpufleet.findings import Finding, error
from gpufleet.spec.addons import GpuOperator
from gpufleet.spec.base import Ownership


class Owner(StrEnum):
    """Who installs a part of the GPU stack on a node."""

    IMAGE = "image"
    """It is in the node image, or the platform installs it by itself."""
    GPU_OPERATOR = "gpuOperator"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Owners:
    """Who brings what to the nodes of one pool."""

    driver: Owner
    toolkit: Owner
    device_plugin: Owner


@dataclass(frozen=True, slots=True)
class OwnedParts:
    """What the operator installs in the whole cluster, decided from every pool's image."""

    driver: bool
    toolkit: bool
    device_plugin: bool


_PARTS = (("driver", "driver"), ("toolkit", "toolkit"), ("device_plugin", "devicePlugin"))
DEPLOY_LABELS = {
    "driver": "nvidia.com/gpu.deploy.driver",
    "toolkit": "nvidia.com/gpu.deploy.container-toolkit",
    "device_plugin": "nvidia.com/gpu.deploy.device-plugin",
}
"""Node label that, set to `false`, keeps the operator from installing the part on that node
(NVIDIA gpu-operator v26.7.0 `controllers/state_manager.go`)."""


def decide(
    images: Sequence[tuple[str, str, NodeImage | None]], operator: GpuOperator
) -> tuple[OwnedParts, tuple[Finding, ...]]:
    """What the operator must install, given each pool's (name, path, image).

    A part is installed by the operator when some pool's image lacks it. A switch that is written
    down must agree: on while every image has the part installs it twice, off while one lacks it
    leaves nodes without.
    """
    findings: list[Finding] = []
    parts: dict[str, bool] = {}
    for part, key in _PARTS:
        having = [name for name, _, image in images if image is not None and getattr(image, part)]
        lacking = [name for name, _, image in images if image is None or not getattr(image, part)]
        declared: bool | None = getattr(operator, part).enabled
        wanted = bool(lacking)
        path = f"addons.gpuOperator.{key}.enabled"
        if operator.ownership is Ownership.EXISTING and declared is None:
            parts[part] = wanted
            continue
        if declared is True and having and not lacking:
            findings.append(
                error(
                    f"{_code(part)}-installed-twice",
                    path,
                    f"the operator would install the {_word(part)} on nodes whose image already "
                    f"has it: {_images(images)}",
                    f"remove the line, or write {path}: false",
                    pools=having,
                )
            )
        if declared is False and lacking:
            findings.append(
                error(
                    f"{_code(part)}-installed-by-nobody",
                    path,
                    f"the image of {', '.join(lacking)} has no {_word(part)} and the operator is "
                    "told not to install it: no GPU would ever be advertised there",
                    "remove the line, or choose an image that has it",
                    pools=lacking,
                )
            )
        parts[part] = wanted if declared is None else declared
    return OwnedParts(**parts), tuple(findings)


def owners(image: NodeImage | None, parts: OwnedParts) -> Owners:
    """Who brings what to nodes with this image."""

    def owner(part: str) -> Owner:
        if image is not None and getattr(image, part):
            return Owner.IMAGE
        return Owner.GPU_OPERATOR if getattr(parts, part) else Owner.NOBODY

    return Owners(owner("driver"), owner("toolkit"), owner("device_plugin"))


def deploy_labels(image: NodeImage | None, parts: OwnedParts) -> dict[str, str]:
    """Labels that keep the operator's hands off what this image already has."""
    if image is None:
        return {}
    return {
        label: "false"
        for part, label in DEPLOY_LABELS.items()
        if getattr(image, part) and getattr(parts, part)
    }


def _code(part: str) -> str:
    return part.replace("_", "-")


def _word(part: str) -> str:
    return part.replace("_", " ")


def _images(images: Sequence[tuple[str, str, NodeImage | None]]) -> str:
    named = [f"{name} ({image.key})" for name, _, image in images if image is not None]
    return ", ".join(named[:5]) + (", ..." if len(named) > 5 else "")
