"""Trainium and Inferentia: allowed settings of such a pool.

Resources: AWS Neuron documentation, device plugin (read 2026-11-22): every node publishes
`aws.amazon.com/neuron` and `aws.amazon.com/neuroncore`, whole devices and single cores of the same
hardware. A pool assigns one of the two.
"""

from collections.abc import Iterator, Sequence

from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, findings_in, has_errors, rules_in
from gpufleet.fleet.model import NEURON_TAINT, Pool
from gpufleet.partition.neuron import in_cores
from gpufleet.partition.partition import Partition
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.neuron import NeuronOptions, NeuronUnit
from gpufleet.spec.pool import GpuPool

_finding, _rules = findings_in(__file__), rules_in(__file__)

NEURON = "aws"
"""Vendor of the catalogue's Neuron devices."""


def is_neuron(gpu: Gpu) -> bool:
    """Whether the accelerator is Trainium or Inferentia."""
    return gpu.vendor == NEURON


def assign_devices(
    pool: GpuPool, path: str, gpu: Gpu, partition: Partition
) -> tuple[Partition, list[Finding]]:
    """The pool's partition in the unit that it assigns, and the errors of the declaration."""
    findings = validate_neuron(pool, path, gpu)
    unit = (pool.neuron or NeuronOptions()).unit
    if not is_neuron(gpu) or unit is NeuronUnit.DEVICE or has_errors(findings):
        return partition, findings
    assert gpu.cores is not None
    return in_cores(partition, gpu.cores), findings


def validate_neuron(pool: GpuPool, path: str, gpu: Gpu) -> list[Finding]:
    """Errors in `neuron`, and in the taints of a Neuron pool."""
    return list(_rules("neuron", path, pool=pool, gpu=gpu, taint=NEURON_TAINT))


def validate_neuron_addon(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All findings about the settings of Neuron's chart."""
    addon = spec.addons.neuron_device_plugin
    if addon.node_recovery and not addon.node_problem_detector:
        yield recovery_without_detector("addons.neuronDevicePlugin.nodeRecovery")
    ours = [pool for pool in pools if is_neuron(pool.gpu) and not pool.served_by_platform]
    served = [pool.name for pool in ours]
    if served and addon.enabled is False and addon.ownership is Ownership.MANAGED:
        yield _finding("neuron-advertised-by-nobody", pools=served)


def recovery_without_detector(path: str) -> Finding:
    """Finding about node recovery without the detector that starts it."""
    return _finding("neuron-recovery-without-detector", path)
