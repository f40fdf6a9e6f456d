"""LeafClass: effect of a difference in one field of a declaration on running resources."""

from collections.abc import Mapping
from enum import StrEnum


class LeafClass(StrEnum):
    """One class for each difference."""

    NONE = "none"
    """No running resource depends on it."""
    LIVE = "live"
    """It changes in place; no node is replaced or drained."""
    COMPILED = "compiled"
    """It depends on the value: the inputs of the nodes' resources, and the rendered files, show the
    effect."""
    NEW_NODES = "newNodes"
    """Only nodes that are created later have it."""
    RESTART = "restart"
    """Each machine is powered off or rebooted for it."""
    ROLLING = "rolling"
    """The provisioner replaces nodes step by step."""
    REPLACEMENT = "replacement"
    """Machines or their group are deleted and created again."""
    OPERAND = "operand"
    """Pods of an add-on restart in the whole cluster."""
    DRIVER = "driver"
    """The driver is reloaded on each node, after its GPU pods have left."""
    CONTROL_PLANE = "controlPlane"
    """The API server gets another version."""
    REFUSED = "refused"
    """The provider refuses it: nothing changes."""
    UNKNOWN = "unknown"
    """The effect is not recorded."""


def class_of(path: str, *tables: Mapping[str, LeafClass]) -> LeafClass:
    """The class of a field by its path: the longest matching prefix, of equal ones that of the
    first table. A field without a class: inputs and files show the effect."""
    best, found = -1, LeafClass.COMPILED
    for table in tables:
        for prefix, one in table.items():
            if len(prefix) > best and (
                path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))
            ):
                best, found = len(prefix), one
    return found
