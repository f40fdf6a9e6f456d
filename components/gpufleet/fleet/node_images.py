"""The image of a pool's nodes: its platform's, for its machines, with its accelerator's driver."""

from gpufleet.catalogue import Catalogue, UnknownKeyError
from gpufleet.catalogue.model import Gpu, NodeImage
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Machine
from gpufleet.fleet.neuron import NEURON, is_neuron
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import GpuPool

DEFAULT_IMAGES = {
    Platform.EKS: "al2023-nvidia",
    Platform.GKE: "cos",
    Platform.VSPHERE: "ubuntu-vsphere",
    Platform.OPENSHIFT: "rhcos",
    Platform.SANDBOX: "sandbox",
}
"""Node image of a pool that names none (`catalogue/data/<edition>/images`)."""


DEFAULT_NEURON_IMAGES = {Platform.EKS: "al2023-neuron"}
"""The same for Trainium and Inferentia, where it is another."""


def _fitting(catalogue: Catalogue, platform: Platform, machine: Machine, gpu: Gpu) -> list[str]:
    """Images of the platform for the machine and its accelerator."""
    return [
        image.key
        for image in catalogue.images.values()
        if image.platform == platform.value
        and machine.architecture in image.architectures
        and (gpu.vendor not in {"nvidia", NEURON} or gpu.vendor in image.vendors)
    ]


def choose_image(
    pool: GpuPool,
    path: str,
    platform: Platform,
    machine: Machine,
    gpu: Gpu,
    catalogue: Catalogue,
) -> tuple[NodeImage | None, list[Finding]]:
    """The image a pool names, or its platform's own; None exactly when a finding is an error."""
    usual = DEFAULT_NEURON_IMAGES if is_neuron(gpu) else DEFAULT_IMAGES
    key = pool.image or usual.get(platform, DEFAULT_IMAGES[platform])
    on_platform = [i.key for i in catalogue.images.values() if i.platform == platform.value]
    try:
        image = catalogue.image(key)
    except UnknownKeyError:
        image = None
    if image is None or image.platform != platform.value:
        return None, [
            error(
                "image-not-on-platform",
                f"{path}.image",
                f"{key!r} is no node image of {platform.value}",
                f"one of {', '.join(on_platform)}",
                found=key,
                allowed=on_platform,
            )
        ]
    if machine.architecture not in image.architectures:
        return None, [
            error(
                "image-architecture",
                f"{path}.image",
                f"{key} exists for {', '.join(image.architectures)}, and {machine.name} is "
                f"{machine.architecture}",
                f"one of {', '.join(_fitting(catalogue, platform, machine, gpu))}",
                found=machine.architecture,
                allowed=list(image.architectures),
            )
        ]
    if gpu.vendor in {"nvidia", NEURON} and gpu.vendor not in image.vendors:
        fitting = [
            i.key
            for i in catalogue.images.values()
            if i.platform == platform.value and gpu.vendor in i.vendors
        ]
        return None, [
            error(
                "image-not-for-accelerator",
                f"{path}.image",
                f"{key} has no driver for {gpu.name}",
                f"one of {', '.join(fitting)}",
                found=key,
                allowed=fitting,
            )
        ]
    return image, []
