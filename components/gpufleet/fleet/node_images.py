"""The image of a pool's nodes: its platform's, for its machines, with its accelerator's driver."""

from gpufleet.catalogue import Catalogue, Gpu, NodeImage, UnknownKeyError
from gpufleet.contract.machine_images import image_mismatch
from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.findings import Finding, error, findings_in
from gpufleet.fleet.model import Machine
from gpufleet.fleet.neuron import NEURON, is_neuron
from gpufleet.spec.pool import GpuPool

_finding = findings_in(__file__)


def _fitting(catalogue: Catalogue, platform: str, machine: Machine, gpu: Gpu) -> list[str]:
    """Images of the platform for the machine and its accelerator."""
    return [
        image.key
        for image in catalogue.images.values()
        if image.platform == platform
        and machine.architecture in image.architectures
        and (gpu.vendor not in {"nvidia", NEURON} or gpu.vendor in image.vendors)
    ]


def in_fips_mode(
    pool: GpuPool, platform: str, machine: Machine, gpu: Gpu, catalogue: Catalogue
) -> GpuPool:
    """The pool with the platform's image in FIPS mode, where it names none and there is one."""
    fitting = _fitting(catalogue, platform, machine, gpu)
    key = next((one for one in fitting if catalogue.image(one).fips), None)
    return pool if pool.image or key is None else pool.model_copy(update={"image": key})


def choose_image(
    pool: GpuPool,
    path: str,
    facts: PlatformFacts,
    machine: Machine,
    gpu: Gpu,
    catalogue: Catalogue,
) -> tuple[NodeImage | None, list[Finding]]:
    """The image a pool names, or its platform's own; None exactly when a finding is an error."""
    platform = facts.image_platform
    neuron = facts.default_neuron_image if is_neuron(gpu) else None
    chosen = None if pool.provisioner is None else facts.provisioner_images.get(pool.provisioner)
    key = pool.image or chosen or neuron or facts.default_image
    on_platform = [i.key for i in catalogue.images.values() if i.platform == platform]
    try:
        image = catalogue.image(key)
    except UnknownKeyError:
        image = None
    if image is None or image.platform != platform:
        return None, [
            _finding(
                "image-not-on-platform", path, found=key, platform=platform, allowed=on_platform
            )
        ]
    other = image_mismatch(key, image.architectures, {machine.name: machine.architecture})
    if other is not None:
        return None, [
            error(
                "image-architecture",
                f"{path}.image",
                other.found,
                f"one of {', '.join(_fitting(catalogue, platform, machine, gpu))}",
                found=machine.architecture,
                allowed=list(image.architectures),
            )
        ]
    if gpu.vendor in {"nvidia", NEURON} and gpu.vendor not in image.vendors:
        fitting = [
            i.key
            for i in catalogue.images.values()
            if i.platform == platform and gpu.vendor in i.vendors
        ]
        return None, [
            _finding("image-not-for-accelerator", path, found=key, gpu=gpu.name, allowed=fitting)
        ]
    return image, []
