"""Inputs of the machines of a vSphere pool: everything that follows from the declaration.

What only another resource knows (the vCenter, where in its inventory, how to join) is added by the
component.
"""

from typing import Any

from gpufleet.fleet.model import Pool
from gpufleet.spec.vsphere import Attachment, VsphereOptions

MODE_LABEL = "gpufleet.dev/gpu-attachment"
"""How a node got its GPU: `passthrough`, `dynamicDirectPath` or `vgpu`. Drivers differ: a guest
with a vGPU needs the licensed one, all others the ordinary one."""

MAX_NAME = 63
"""Longest name: of the machine, the guest's host name and the Kubernetes node."""


def machine_names(prefix: str, pool: Pool) -> tuple[str, ...]:
    """`<prefix>-<pool>-<ordinal>`, an ordinal for each of `nodes.min` machines. Fewer machines
    later remove the highest ordinals; no machine is ever renumbered.

    Raises:
        ValueError: the longest name is too long; the text says by how much.
    """
    names = tuple(f"{prefix}-{pool.name}-{ordinal}" for ordinal in range(pool.nodes.minimum))
    longest = max(names, key=len, default="")
    if len(longest) > MAX_NAME:
        raise ValueError(
            f"{longest!r} has {len(longest)} characters, and a machine's name at most {MAX_NAME}: "
            f"shorten namePrefix or the pool's name by {len(longest) - MAX_NAME}"
        )
    return names


def machine_inputs(pool: Pool) -> dict[str, Any]:
    """What every machine of the pool is, in the spelling of `VsphereGpuNode`.

    Raises:
        ValueError: the pool is not one of vSphere's.
    """
    options = pool.spec.vsphere
    if options is None:
        raise ValueError(f"pool {pool.name} has no vsphere section")
    inputs: dict[str, Any] = {
        "cpus": options.cpus,
        "memoryMib": options.memory_gib * 1024,
        "diskGib": pool.spec.disk.size_gib,
        "gpu": gpu_attachment(pool, options),
        "gpuMemoryGib": pool.gpu.nominal_gb or 1,
        "updatePolicy": options.update_policy.value,
    }
    if options.mmio_gib is not None:
        inputs["mmioGib"] = options.mmio_gib
    return inputs


def gpu_attachment(pool: Pool, options: VsphereOptions) -> dict[str, Any]:
    """How each machine gets its GPUs."""
    if options.attachment is Attachment.PASSTHROUGH:
        return {"mode": "fixed", "pciAddresses": [a.lower() for a in options.pci_addresses]}
    if options.attachment is Attachment.VGPU:
        profile = "" if pool.spec.sharing.vgpu is None else pool.spec.sharing.vgpu.profile
        return {"mode": "vgpu", "profile": profile.lower(), "count": pool.gpus_per_node}
    known = options.device_ids or tuple(_device_id(text) for text in pool.gpu.pci_device_ids)
    attachment: dict[str, Any] = {
        "mode": "dynamic",
        "deviceIds": [device_id.lower() for device_id in known],
        "count": pool.gpus_per_node,
    }
    if options.hardware_label:
        attachment["label"] = options.hardware_label
    return attachment


def node_labels(pool: Pool) -> dict[str, str]:
    """Labels the node registers with."""
    labels = dict(pool.labels)
    if pool.spec.vsphere is not None:
        labels[MODE_LABEL] = pool.spec.vsphere.attachment.value
    return dict(sorted(labels.items()))


def _device_id(text: str) -> str:
    """`20b5` of the catalogue's `0x20B510DE`, which has the vendor behind it."""
    return text.removeprefix("0x").lower()[:4]
