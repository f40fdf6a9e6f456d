"""Tests that a node must pass before work may run on it."""

from pydantic import Field

from gpufleet.spec.base import SpecModel


class AcceptancePolicy(SpecModel):
    """Tests of each node of a pool before it runs work, repeated when their inputs change.

    Until a node has passed, it keeps the taint `gpufleet.dev/not-accepted`.
    """

    strict: bool = False
    """Whether a node that fails ends the update with an error. Default false: the node stays
    tainted, and the output `refused` contains its results."""
    diagnostics: int | None = Field(default=None, ge=1, le=4)
    """Level of `dcgmi diag -r`, 1 (seconds) to 4 (one to two hours). Default: 3 for training (half
    an hour), 2 for batch and inference (minutes), 1 for interactive."""
    within_node_gbs: float | None = Field(default=None, gt=0, le=10_000)
    """Minimum bus bandwidth of an NCCL all-reduce over the GPUs of a node, GB/s, at most 10000.
    Default: 75 % of the NVLink bandwidth of the catalogue; without NVLink it is only reported."""
    between_nodes_gbs: float | None = Field(default=None, gt=0, le=10_000)
    """The same over two nodes, GB/s, at most 10000. Default: 75 % of the machine type's network;
    if the catalogue has none, it is only reported."""
    perftest_image: str | None = Field(default=None, min_length=1, max_length=300)
    """Image with `ib_write_bw`, by digest or version, for pools with `fabric: rdma`. Default: the
    bandwidth of RDMA is not measured."""
    retry_minutes: int = Field(default=30, ge=1, le=1440)
    """Minutes until a refused node is tested again, 1 to 1440. Default 30."""
    wait_minutes: int = Field(default=90, ge=1, le=1440)
    """Time that an update waits for the results of the existing nodes, 1 to 1440 minutes.
    Default 90."""
    rerun: str = Field(default="", max_length=100)
    """Any text, at most 100 characters; a changed text tests every node again. Default: empty."""
