"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.platforms.existing`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.words import LabelsByWord


class ExistingOptionsDict(TypedDict):
    """Nodes of a pool, and the way in which its labels are written."""

    nodes: NotRequired[Sequence[str]]
    """Names of the nodes, at most 1000. Default: by `namePattern`, `labels` or `product`."""
    namePattern: NotRequired[str]
    """Regular expression that the whole name matches, `gpu-[0-9]+`. Default: none."""
    labels: NotRequired[Mapping[str, str]]
    """Labels that these nodes already have, at most 20. Default: none."""
    product: NotRequired[bool]
    """Whether the pool is every node whose `nvidia.com/gpu.product` names the pool's GPU. Default
    false; without any of these, every node with an NVIDIA GPU."""
    labelsBy: NotRequired[LabelsByWord]
    """One of `apply`, `rule`, `commands`. How the labels are written. Default: `apply` with
    `nodes`, `commands` with `labels` or `product`, else `rule`."""
    cpus: NotRequired[int]
    """Processors of a node. Default: not known."""
    memoryGib: NotRequired[int]
    """Memory of a node in GiB. Default: not known."""
