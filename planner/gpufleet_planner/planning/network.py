"""When a job needs NVLink inside a machine, and RDMA between machines."""

from dataclasses import dataclass

from gpufleet.models.architecture import Architecture
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.sizing.communication import Link, LinkKind, network, nvlink
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.sizing.training_rates import exchanged_bytes

RDMA_SHARE_OF_STEP = 0.30
"""Part of a step that exchanging gradients over a plain network may take."""
_PLAIN_SUSTAINED = 0.7
_KINDS = {
    "efa": LinkKind.EFA,
    "tcpx": LinkKind.ETHERNET,
    "tcpxo": LinkKind.ETHERNET,
    "rdma": LinkKind.INFINIBAND,
    "none": LinkKind.ETHERNET,
}


def has_nvlink(device: Device) -> bool:
    """Whether more than two boards of this kind can talk past PCIe: bridges join two only."""
    rates = device.rates
    bridge = rates is not None and rates.nvlink_bridge
    return nvlink(device.gpu, device.board) is not None and not bridge


def link_between(machine: OfferedMachine) -> Link | None:
    """What joins machines of a kind; None where its rate is not sourced."""
    if machine.network_gbps is None:
        return None
    return network(_KINDS[machine.fabric], machine.network_gbps, machine.gpus)


@dataclass(frozen=True, slots=True)
class RdmaVerdict:
    """What a job over several machines moves between them."""

    needed: bool
    """Whether a plain network of the machine's rate is too slow for it."""
    bytes_per_step: int
    """What one machine moves per optimizer step."""
    plain_seconds: float
    """How long that takes at the machine's rate over a plain network."""

    def __str__(self) -> str:
        return f"{self.bytes_per_step / 1e9:.0f} GB per machine and step"


def rdma(
    model: Architecture,
    job: Training,
    parallel: Parallelism,
    machine: OfferedMachine,
    compute_seconds: float,
) -> RdmaVerdict | None:
    """The rule: FSDP and ZeRO-3 move 6 bytes per parameter and machine each step, other data
    parallelism 4, and LoRA what its adapters and the gathering of its base take; RDMA is needed
    when that takes more than 30 % of the step over the machine's plain network. Tensor groups never
    leave a machine here. None: the rate is not sourced."""
    if machine.network_gbps is None:
        return None
    moved = exchanged_bytes(model, job, parallel) // parallel.pipeline
    plain = moved / (machine.network_gbps * 1e9 / 8 * _PLAIN_SUSTAINED)
    return RdmaVerdict(plain > RDMA_SHARE_OF_STEP * compute_seconds, moved, plain)
