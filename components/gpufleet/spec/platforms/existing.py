"""Settings of a pool for existing nodes only."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from gpufleet.spec.base import SpecModel

NodeName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=253),
]
"""Name of a Node object: an RFC 1123 subdomain, at most 253 characters."""


class LabelsBy(StrEnum):
    """How a pool's labels are written to its nodes."""

    APPLY = "apply"
    """`pulumi up`, by server-side apply: it owns these labels and removes them again."""
    RULE = "rule"
    """Node Feature Discovery, by a NodeFeatureRule: also on nodes that join later."""
    COMMANDS = "commands"
    """You, with the commands that `gpufleet render` writes: the fleet has no rights on nodes."""


class ExistingOptions(SpecModel):
    """Nodes of a pool, and the way in which its labels are written."""

    nodes: Annotated[tuple[NodeName, ...], Field(max_length=1000)] = ()
    """Names of the nodes, at most 1000. Default: by `namePattern`, `labels` or `product`."""
    name_pattern: str | None = Field(default=None, min_length=1, max_length=200)
    """Regular expression that the whole name matches, `gpu-[0-9]+`. Default: none."""
    labels: Annotated[
        dict[
            Annotated[str, StringConstraints(min_length=1, max_length=317)],
            Annotated[str, StringConstraints(max_length=63)],
        ],
        Field(max_length=20),
    ] = Field(default_factory=dict[str, str])
    """Labels that these nodes already have, at most 20. Default: none."""
    product: bool = False
    """Whether the pool is every node whose `nvidia.com/gpu.product` names the pool's GPU. Default
    false; without any of these, every node with an NVIDIA GPU."""
    labels_by: LabelsBy | None = None
    """How the labels are written. Default: `apply` with `nodes`, `commands` with `labels` or
    `product`, else `rule`."""
    cpus: int | None = Field(default=None, ge=1, le=4096)
    """Processors of a node. Default: not known."""
    memory_gib: int | None = Field(default=None, ge=1, le=65_536)
    """Memory of a node in GiB. Default: not known."""

    @field_validator("nodes")
    @classmethod
    def _named_once(cls, nodes: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(nodes)) < len(nodes):
            raise ValueError("a node is named twice; name it once")
        return nodes

    @field_validator("name_pattern")
    @classmethod
    def _expression(cls, pattern: str | None) -> str | None:
        """Without these, Python, `grep -E` and Node Feature Discovery (Go) read it equally."""
        if pattern is not None and re.search(r"\\|\(\?|\[:", pattern):
            raise ValueError("write it without a backslash, `(?` and `[:`, such as `gpu-[0-9]+`")
        try:
            re.compile(pattern or "")
        except re.error as problem:
            raise ValueError(f"not a regular expression for whole names: {problem}") from problem
        return pattern

    @model_validator(mode="after")
    def _one_choice(self) -> Self:
        chosen = [key for key, there in self._selectors().items() if there]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} choose the nodes; write one of them")
        return self

    def _selectors(self) -> dict[str, bool]:
        return {
            "nodes": bool(self.nodes),
            "namePattern": self.name_pattern is not None,
            "labels": bool(self.labels),
            "product": self.product,
        }

    @property
    def selects_all(self) -> bool:
        """Whether the pool is every node with NVIDIA GPUs."""
        return not any(self._selectors().values())

    @property
    def writer(self) -> LabelsBy:
        """How the labels are written, including the default."""
        if self.labels_by is not None:
            return self.labels_by
        if self.nodes:
            return LabelsBy.APPLY
        return LabelsBy.COMMANDS if self.labels or self.product else LabelsBy.RULE
