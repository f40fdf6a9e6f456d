"""Creation: a new object that fixes a finding, described without being rendered.

A patch changes what is written; where something is missing there is nothing to change. Fronts
render a creation when someone asks for it: rules name hundreds, and most runs print none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Creation:
    """A Kubernetes object to create in addition to the checked object."""

    kind: str
    """`ResourceQuota` or `ScaledObject`."""
    name: str
    namespace: str
    content: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    """Of a quota its `hard` limits; of a ScaledObject what `gpufleet.spec.scaling` takes."""
