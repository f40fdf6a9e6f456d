"""vGPU: what the host's device manager makes. Format: NVIDIA vGPU device manager `version: v1`."""

from typing import Any

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.partition.vgpu import scheduler_value


def vgpu_config_name(pool: Pool) -> str:
    """Configuration of the device manager's file for a pool's hosts: the type, in lower case."""
    assert pool.partition.vgpu is not None
    return pool.partition.vgpu.type.name.lower()


def vgpu_device_config(fleet: Fleet) -> dict[str, Any]:
    """The vGPU device manager's document: for each type of the fleet, every GPU filled with it.

    For hosts that run Kubernetes themselves (KubeVirt, OpenShift Virtualization); vCenter makes
    vGPUs by itself. Types no table has a number for are left out. Empty without vGPU pools.
    """
    configs: dict[str, list[dict[str, Any]]] = {}
    for pool in fleet.pools:
        made = pool.partition.vgpu
        if made is None or made.per_gpu is None:
            continue
        configs[vgpu_config_name(pool)] = [
            {"devices": "all", "vgpu-devices": {made.type.name: made.per_gpu}}
        ]
    return {"version": "v1", "vgpu-configs": dict(sorted(configs.items()))} if configs else {}


def vgpu_scheduler_file(fleet: Fleet) -> str:
    """Commands that set the scheduler of the hosts' GPUs; empty where no pool declares one.

    Source: NVIDIA Virtual GPU Software User Guide, Changing the Time-Sliced vGPU Scheduling
    Behavior for All GPUs.
    """
    lines: list[str] = []
    for pool in fleet.pools:
        made = pool.partition.vgpu
        if made is None or made.scheduler is None:
            continue
        key = f"RmPVMRL={scheduler_value(made.scheduler, made.time_slice_ms)}"
        lines += [
            f"# {pool.name}: {made.scheduler.value} on every host with {pool.gpu.key}; restart it",
            f'esxcli system module parameters set -m nvidia -p "NVreg_RegistryDwords={key}"',
            "# hosts with KVM: /etc/modprobe.d/nvidia.conf",
            f'# options nvidia NVreg_RegistryDwords="{key}"',
        ]
    return "\n".join(lines) + "\n" if lines else ""


def vgpu_device_file(fleet: Fleet) -> str:
    """The document as the text of its ConfigMap; empty without vGPU pools."""
    document = vgpu_device_config(fleet)
    return yaml_text(document) if document else ""
