"""Links between GPUs and what moving data over them takes.

Bandwidth is one way and sustained, in bytes per second. NVLink is quoted both ways together by its
vendor; here it is halved first.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from gpufleet.catalogue import Gpu
from gpufleet.models.architecture import Architecture, ExpertFeedForward
from gpufleet.models.parallel import Parallelism


class LinkKind(StrEnum):
    """Link between the GPUs of a group."""

    NVLINK = "nvlink"
    PCIE = "pcie"
    EFA = "efa"
    INFINIBAND = "infiniband"
    ETHERNET = "ethernet"


@dataclass(frozen=True, slots=True)
class Link:
    """One GPU's way to the others."""

    kind: LinkKind
    bytes_per_second: float
    """One way, per GPU, sustained."""
    latency_seconds: float
    """Latency of one collective operation, small message."""
    sharers: int = 1
    """GPUs of a node that have such a link each: data for all of them passes the node's network
    once, a part over each link."""


NVLINK_SUSTAINED = 0.88
"""Part of the specified rate: 396 of 450 GB/s measured between two H200."""
NVLINK_LATENCY = 18e-6
"""Fitted: makes one-GPU bandwidth use of 0.69 fall to the published 0.58, 0.47, 0.35 on 2, 4, 8
A100 (gpt-fast, Llama-2-7B, batch 1)."""
_PCIE_LATENCY = 30e-6
_NETWORK_LATENCY = 40e-6
_PCIE_SUSTAINED = 0.75
_NETWORK_SUSTAINED = {LinkKind.EFA: 0.85, LinkKind.INFINIBAND: 0.9, LinkKind.ETHERNET: 0.7}
_PCIE_BY_CAPABILITY = (((9, 0), 64e9), ((8, 0), 32e9), ((0, 0), 16e9))
"""One way, 16 lanes, by compute capability: generation 5, 4 and 3."""


def nvlink(gpu: Gpu, board: str = "") -> Link | None:
    """NVLink of a board; None where it has none. A bridge joins two boards only."""
    rates = gpu.rates.get(board)
    both_ways = gpu.nvlink_bytes_per_second if rates is None else rates.nvlink_bytes_per_second
    if not both_ways:
        return None
    return Link(LinkKind.NVLINK, both_ways / 2 * NVLINK_SUSTAINED, NVLINK_LATENCY)


def has_nvlink(gpu: Gpu, board: str) -> bool:
    """Whether more than two boards of this kind can talk past PCIe: bridges join two only."""
    rates = gpu.rates.get(board)
    bridge = rates is not None and rates.nvlink_bridge
    return nvlink(gpu, board) is not None and not bridge


def pcie(gpu: Gpu) -> Link:
    """PCIe of a board: the generation follows from the compute capability (Ada boards, 8.9, have
    generation 4)."""
    capability = gpu.compute_capability or (0, 0)
    rate = next(rate for least, rate in _PCIE_BY_CAPABILITY if capability >= least)
    return Link(LinkKind.PCIE, rate * _PCIE_SUSTAINED, _PCIE_LATENCY)


def network(kind: LinkKind, gigabits_per_second: float, gpus_per_node: int) -> Link:
    """A node's network, shared by its GPUs. `kind`: EFA, InfiniBand or Ethernet."""
    share = gigabits_per_second * 1e9 / 8 / gpus_per_node
    return Link(kind, share * _NETWORK_SUSTAINED[kind], _NETWORK_LATENCY, gpus_per_node)


def inside_node(gpu: Gpu, board: str = "") -> Link:
    """The fastest link between GPUs of one node: NVLink where the board has it, else PCIe."""
    return nvlink(gpu, board) or pcie(gpu)


def forward_seconds(model: Architecture, tokens: float, parallel: Parallelism, link: Link) -> float:
    """Communication time of one forward pass of the tokens, without overlap with arithmetic."""
    fixed, each = forward_cost(model, parallel, link)
    return fixed + tokens * each


@lru_cache(maxsize=4096)
def forward_cost(model: Architecture, parallel: Parallelism, link: Link) -> tuple[float, float]:
    """Communication of a forward pass: seconds whatever its size, and seconds for each token.

    Tensor parallel: two all-reduces of T*h*2 bytes per layer, each a ring in which every rank sends
    2*(n-1)/n of the payload. Expert parallel: two all-to-alls of
    T*k*h*2 bytes per mixture layer. Pipeline: T*h*2 bytes per stage border.
    """
    payload = model.hidden * 2 / link.bytes_per_second
    tensor = parallel.tensor
    reduced = 2 * model.layers if tensor > 1 else 0
    times: float = reduced
    weight = reduced * 2 * (tensor - 1) / tensor
    if parallel.expert > 1:
        for group in model.groups:
            if isinstance(group.feed_forward, ExpertFeedForward):
                times += 2 * group.count
                weight += 2 * group.count * group.feed_forward.per_token / parallel.expert
    borders = parallel.pipeline - 1
    return (times + borders) * link.latency_seconds, (weight + borders) * payload
