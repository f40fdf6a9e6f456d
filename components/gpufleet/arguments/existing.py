"""Inputs of components: what restates `gpufleet.spec.platforms.existing`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import LabelsByWord


class ExistingOptionsArgs(TypedDict):
    """Nodes of a pool, and the way in which its labels are written."""

    nodes: NotRequired[list[str]]
    """Names of the nodes, at most 1000. Default: by `namePattern`, `labels` or `product`."""
    name_pattern: NotRequired[str]
    """Regular expression that the whole name matches, `gpu-[0-9]+`. Default: none."""
    labels: NotRequired[dict[str, str]]
    """Labels that these nodes already have, at most 20. Default: none."""
    product: NotRequired[bool]
    """Whether the pool is every node whose `nvidia.com/gpu.product` names the pool's GPU. Default
    false; without any of these, every node with an NVIDIA GPU."""
    labels_by: NotRequired[LabelsByWord]
    """One of `apply`, `rule`, `commands`. How the labels are written. Default: `apply` with
    `nodes`, `commands` with `labels` or `product`, else `rule`."""
    cpus: NotRequired[int]
    """Processors of a node. Default: not known."""
    memory_gib: NotRequired[int]
    """Memory of a node in GiB. Default: not known."""
