"""Creation: a new object that fixes a finding, described without being rendered.

A patch changes existing text; it cannot add a missing object. Commands render a creation only on
request: rules name hundreds, and most runs print none.
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
    """For a quota its `hard` limits; for a ScaledObject the fields of `gpufleet.spec.scaling`."""
