"""Trainium and Inferentia: what such a pool may declare.

Resources: AWS Neuron documentation, device plugin (read 2026-11-22): every node publishes
`aws.amazon.com/neuron` and `aws.amazon.com/neuroncore`, whole devices and single cores of the same
hardware. A pool assigns one of the two.
"""

from collections.abc import Iterator, Sequence

from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, error, has_errors, warning
from gpufleet.fleet.model import NEURON_TAINT, Pool
from gpufleet.partition.neuron import in_cores
from gpufleet.partition.partition import Partition
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.neuron import NeuronOptions, NeuronUnit
from gpufleet.spec.pool import GpuPool

NEURON = "aws"
"""Vendor of the catalogue's Neuron devices."""
LOGICAL_CORES = ("Trainium2",)
"""Devices whose cores are joined to logical ones by a setting of the machine."""


def is_neuron(gpu: Gpu) -> bool:
    """Whether the accelerator is Trainium or Inferentia."""
    return gpu.vendor == NEURON


def assign_devices(
    pool: GpuPool, path: str, gpu: Gpu, partition: Partition
) -> tuple[Partition, list[Finding]]:
    """The pool's partition in the unit it assigns, and what is wrong with the declaration."""
    findings = validate_neuron(pool, path, gpu)
    unit = (pool.neuron or NeuronOptions()).unit
    if not is_neuron(gpu) or unit is NeuronUnit.DEVICE or has_errors(findings):
        return partition, findings
    assert gpu.cores is not None
    return in_cores(partition, gpu.cores), findings


def validate_neuron(pool: GpuPool, path: str, gpu: Gpu) -> list[Finding]:
    """What is wrong with `neuron`, and with the taints of a Neuron pool."""
    if not is_neuron(gpu):
        if pool.neuron is None:
            return []
        return [
            error(
                "neuron-options-without-neuron",
                f"{path}.neuron",
                f"`neuron` is for Trainium and Inferentia, and the pool has {gpu.name}",
                "remove it",
                found=gpu.key,
            )
        ]
    findings = [
        error(
            "taint-twice",
            f"{path}.taints[{index}]",
            f"{taint.key}:{taint.effect} is already there on every Neuron pool",
            "remove it",
            found=taint.key,
        )
        for index, taint in enumerate(pool.taints)
        if pool.gpu_taint and (taint.key, taint.effect) == (NEURON_TAINT.key, NEURON_TAINT.effect)
    ]
    unit = (pool.neuron or NeuronOptions()).unit
    if unit is NeuronUnit.CORE and gpu.key in LOGICAL_CORES:
        findings.append(
            error(
                "neuron-cores-are-logical",
                f"{path}.neuron.unit",
                f"how many cores a node of {gpu.name} publishes depends on the size of its logical "
                "cores, a setting of the machine that gpufleet does not make",
                "write `unit: device`",
                found=unit.value,
            )
        )
    return findings


def validate_neuron_addon(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All findings about the settings of Neuron's chart."""
    addon = spec.addons.neuron_device_plugin
    if addon.node_recovery and not addon.node_problem_detector:
        yield recovery_without_detector("addons.neuronDevicePlugin.nodeRecovery")
    ours = [pool for pool in pools if is_neuron(pool.gpu) and not pool.served_by_platform]
    served = [pool.name for pool in ours]
    if served and addon.enabled is False and addon.ownership is Ownership.MANAGED:
        yield warning(
            "neuron-advertised-by-nobody",
            "addons.neuronDevicePlugin.enabled",
            f"gpufleet installs nothing that advertises the devices of {', '.join(served)}",
            "remove the line, or say `ownership: existing` when someone else installs it",
            pools=served,
        )


def recovery_without_detector(path: str) -> Finding:
    """Finding about node recovery without the detector that starts it."""
    return error(
        "neuron-recovery-without-detector",
        path,
        "nothing would report failed devices to it: nodeProblemDetector is false",
        "write `nodeProblemDetector: true`, or remove nodeRecovery",
    )
