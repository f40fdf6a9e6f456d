"""Strategic merge patches on plain data, as `kustomize build` applies them.

Source: kubernetes-sigs/kustomize kyaml/yaml/merge2 and kyaml/yaml/walk at kustomize v5.5.0: lists
of objects are merged by the key that the API defines (`x-kubernetes-patch-merge-key` of Kubernetes
1.36, api/openapi-spec/swagger.json), items of the patch first; every other list is replaced, and
so are all lists of kinds that are not Kubernetes' own.
"""

import copy
import csv
from pathlib import Path
from typing import Any

from gpufleet.documents.shapes import is_list, is_mapping

with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    _KEYS = {row["field"]: row["key"] for row in csv.DictReader(_file)}
"""Field -> key of its items."""
_SETS = frozenset({"finalizers"})
"""Lists of single values that are joined."""
_BUILT_IN = frozenset({"", "apps", "batch", "autoscaling", "extensions", "policy"})
"""API groups of Kubernetes without a point in their name; all others end with `.k8s.io`."""
_OF_OTHERS = ("x-k8s.io", "kustomize.config.k8s.io", "snapshot.storage.k8s.io")
"""Ends of groups of projects of Kubernetes whose kinds are custom resources."""
_DIRECTIVE = "$patch"


def merges_lists(api_version: Any) -> bool:
    """Whether lists of a kind are merged by keys: whether it is Kubernetes' own."""
    text = api_version if isinstance(api_version, str) else ""
    group = text.partition("/")[0] if "/" in text else ""
    return group in _BUILT_IN or (group.endswith(".k8s.io") and not group.endswith(_OF_OTHERS))


def merged(under: Any, patch: dict[str, Any], *, by_keys: bool) -> Any:
    """An object with a patch merged into it; None where the patch deletes it."""
    if patch.get(_DIRECTIVE) == "delete":
        return None
    return _mapping(under if is_mapping(under) else {}, patch, by_keys)


def _mapping(under: dict[str, Any], patch: dict[str, Any], by_keys: bool) -> Any:
    if patch.get(_DIRECTIVE) == "replace":
        return _plain({key: value for key, value in patch.items() if key != _DIRECTIVE})
    found = dict(under)
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            found.pop(key, None)
            continue
        before = found.get(key)
        if is_mapping(value):
            if value.get(_DIRECTIVE) == "delete":
                found.pop(key, None)
                continue
            found[key] = _mapping(before if is_mapping(before) else {}, value, by_keys)
        elif is_list(value):
            found[key] = _list(before if is_list(before) else [], value, key, by_keys)
        else:
            found[key] = value
    return found


def _list(under: list[Any], patch: list[Any], field: str, by_keys: bool) -> list[Any]:
    if by_keys and field in _SETS:
        return [*under, *(one for one in patch if one not in under)]
    name = _key(field, [*under, *patch]) if by_keys else None
    if name is None:
        return [_plain(one) for one in patch]
    if any(is_mapping(one) and one.get(_DIRECTIVE) == "replace" for one in patch):
        return [_plain(one) for one in patch if not (is_mapping(one) and _DIRECTIVE in one)]
    kept = list(under)
    first: list[Any] = []
    for one in patch:
        known = one.get(name) if is_mapping(one) else None
        before = next((item for item in kept if _is(item, name, known)), None)
        kept = [item for item in kept if not _is(item, name, known)]
        if is_mapping(one) and one.get(_DIRECTIVE) == "delete":
            continue
        first.append(_plain(one) if before is None else _mapping(before, one, by_keys))
    return [*first, *kept]


def _is(item: Any, name: str, value: Any) -> bool:
    return is_mapping(item) and value is not None and item.get(name) == value


def _key(field: str, items: list[Any]) -> str | None:
    """The key of the items of a list; None where it is replaced as a whole."""
    if not all(is_mapping(one) for one in items):
        return None
    if field == "ports":  # of a container, or of a Service
        return "containerPort" if any("containerPort" in one for one in items) else "port"
    return _KEYS.get(field)


def _plain(value: Any) -> Any:
    """A copy without directives and nulls, which only control the merge."""
    if is_mapping(value):
        return {
            key: _plain(one)
            for key, one in value.items()
            if not key.startswith("$") and one is not None
        }
    if is_list(value):
        return [_plain(one) for one in value]
    return copy.deepcopy(value)
