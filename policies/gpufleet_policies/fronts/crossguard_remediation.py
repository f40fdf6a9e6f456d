"""Remediation through CrossGuard: JSON patches carried out on a resource's inputs.

Inputs arrive with secrets wrapped and unknown values as sentinel strings; both stay as they are,
and nothing is changed inside of either. The engine takes the complete new inputs.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet_policies.fronts.audit.patches import Operation, PatchConflictError, patched
from gpufleet_policies.readers.reading import items, mapping


def remediated(properties: Any, operations: Iterable[Operation]) -> Mapping[str, Any] | None:
    """New inputs with every operation that fits; None when nothing changes.

    `properties` are what the SDK hands to a remediation, or plain data.
    """
    raw = _opened(properties)
    changed = raw
    for operation in operations:
        if not _is_readable(changed, str(operation["path"])):
            continue
        try:
            changed = patched(changed, [operation])
        except PatchConflictError:
            continue  # the violation stays and is reported as such
    return None if changed is raw or changed == raw else changed


def _opened(value: Any) -> Any:
    """Dicts and lists that can be changed, secrets still wrapped: what the SDK's proxies guard."""
    if type(value).__name__ in _PROXIES:
        value = value["__target"]
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in mapping(value).items()}
    return [_opened(item) for item in items(value)] if isinstance(value, list) else value


_PROXIES = frozenset({"_DictSecretsProxy", "_ListSecretsProxy", "_DictProxy", "_ListProxy"})


def _is_readable(document: Any, pointer: str) -> bool:
    """Whether the way to a field leads through nothing that is unknown or secret."""
    here: object = document
    for step in pointer.split("/")[1:-1]:
        name = step.replace("~1", "/").replace("~0", "~")
        if name in mapping(here):
            here = mapping(here)[name]
        elif name.isdecimal() and int(name) < len(items(here)):
            here = items(here)[int(name)]
        else:
            return False
        if not isinstance(here, dict | list):
            return False  # unknown values are texts, secrets are wrapped
    return True
