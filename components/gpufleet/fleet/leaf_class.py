"""LeafClass: what a difference in one field of a declaration does to what runs."""

from collections.abc import Mapping
from enum import StrEnum


class LeafClass(StrEnum):
    """One class for each difference."""

    NONE = "none"
    """Nothing that runs depends on it."""
    LIVE = "live"
    """It changes on what runs; no node is replaced or emptied."""
    COMPILED = "compiled"
    """It depends on the value: the inputs of the nodes' resources, and the rendered files, show
    what it does."""
    NEW_NODES = "newNodes"
    """Only nodes that are made later have it."""
    RESTART = "restart"
    """Each machine is powered off or rebooted for it."""
    ROLLING = "rolling"
    """Nodes are replaced step by step, by the one who provisions them."""
    REPLACEMENT = "replacement"
    """Machines or their group are deleted and made anew."""
    OPERAND = "operand"
    """Pods of an add-on restart in the whole cluster."""
    DRIVER = "driver"
    """The driver is loaded anew on each node, after its GPU pods have left."""
    CONTROL_PLANE = "controlPlane"
    """The API server gets another version."""
    REFUSED = "refused"
    """The provider refuses it: nothing changes."""
    UNKNOWN = "unknown"
    """No record says what it does."""


def class_of(path: str, *tables: Mapping[str, LeafClass]) -> LeafClass:
    """The class of a field by its path; the longest entry that begins it counts, of equal ones
    that of the first table. A field without one: inputs and files show what it does."""
    best, found = -1, LeafClass.COMPILED
    for table in tables:
        for prefix, one in table.items():
            if len(prefix) > best and (
                path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))
            ):
                best, found = len(prefix), one
    return found
