"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.acceptance`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict


class AcceptancePolicyDict(TypedDict):
    """Tests of each node of a pool before it runs work, repeated when their inputs change. Until
    a node has passed, it keeps the taint `gpufleet.dev/not-accepted`."""

    strict: NotRequired[bool]
    """Whether a node that fails ends the update with an error. Default false: the node stays
    tainted, and the output `refused` contains its results."""
    diagnostics: NotRequired[int]
    """Level of `dcgmi diag -r`, 1 (seconds) to 4 (one to two hours). Default: 3 for training
    (half an hour), 2 for batch and inference (minutes), 1 for interactive."""
    withinNodeGbs: NotRequired[float]
    """Minimum bus bandwidth of an NCCL all-reduce over the GPUs of a node, GB/s, at most 10000.
    Default: 75 % of the NVLink bandwidth of the catalogue; without NVLink it is only reported."""
    betweenNodesGbs: NotRequired[float]
    """The same over two nodes, GB/s, at most 10000. Default: 75 % of the machine type's network;
    if the catalogue has none, it is only reported."""
    perftestImage: NotRequired[str]
    """Image with `ib_write_bw`, by digest or version, for pools with `fabric: rdma`. Default: the
    bandwidth of RDMA is not measured."""
    retryMinutes: NotRequired[int]
    """Minutes until a refused node is tested again, 1 to 1440. Default 30."""
    waitMinutes: NotRequired[int]
    """Time that an update waits for the results of the existing nodes, 1 to 1440 minutes. Default
    90."""
    rerun: NotRequired[str]
    """Any text, at most 100 characters; a changed text tests every node again. Default: empty."""
