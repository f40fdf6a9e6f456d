"""Remediation through CrossGuard: JSON patches applied to a resource's inputs.

On the wire secrets are wrapped and unknown values are sentinel strings; both stay unchanged, and
no patch changes a value inside them. The engine takes the complete new inputs.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from gpufleet_policies.readers.plain import SIGNATURE
from gpufleet_policies.resolve.json_patch import Operation, PatchConflictError, patched


def remediated(properties: Any, operations: Iterable[Operation]) -> Mapping[str, Any] | None:
    """New inputs with every operation that fits; None when nothing changes.

    `properties` are those on the wire; they are not changed themselves.
    """
    changed = properties
    for operation in operations:
        if not _is_readable(changed, str(operation["path"])):
            continue
        try:
            changed = patched(changed, [operation])
        except PatchConflictError:
            continue  # the violation stays and is reported as such
    return None if changed == properties else changed


def _is_readable(document: Any, pointer: str) -> bool:
    """Whether the way to a field leads through nothing that is unknown or secret."""
    here: Any = document
    for step in pointer.split("/")[1:-1]:
        name = step.replace("~1", "/").replace("~0", "~")
        held = cast("dict[str, Any] | list[Any]", here)
        if isinstance(held, dict) and name in held:
            here = held[name]
        elif isinstance(held, list) and name.isdecimal() and int(name) < len(held):
            here = held[int(name)]
        else:
            return False
        if not isinstance(here, dict | list) or SIGNATURE in here:
            return False  # unknown values are texts, secrets and assets have a signature
    return True
