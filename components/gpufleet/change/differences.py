"""Differences between two fleets: fields of the declarations, the files of a pool, the inputs of
the resources that create its nodes, and the engine's operations."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import yaml

from gpufleet.change.plan import FieldDifference, ResourceChange, ResourceOperation
from gpufleet.fleet.input_differences import InputDifference, differing, plain
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.platform_rules import PlatformRules, platform_rules
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet.render.platform_files import platform_files
from gpufleet.spec.base import Ownership, SpecModel


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of every value inside plain data; None is not a value."""
    if isinstance(value, Mapping) and value:
        for key, one in cast("Mapping[Any, Any]", value).items():
            yield from leaves(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple) and value:
        for number, one in enumerate(cast("list[Any]", value)):
            yield from leaves(one, f"{path}[{number}]")
    elif value is not None:
        yield path, str(cast("object", value))


def written(old: SpecModel, new: SpecModel, *, without: frozenset[str]) -> list[FieldDifference]:
    """Different fields of the declarations; a default may be written or not."""
    found, full = (
        [
            one.model_dump(
                mode="json", by_alias=True, exclude=set(without), exclude_defaults=without_defaults
            )
            for one in (old, new)
        ]
        for without_defaults in (True, False)
    )
    defaults = [dict(leaves(one)) for one in full]
    return [
        replace(
            one,
            old=defaults[0].get(one.field, one.old),
            new=defaults[1].get(one.field, one.new),
        )
        for one in _compared(*found)
    ]


def files_differ(old: Fleet, new: Fleet, name: str) -> bool:
    """Whether the rendered files of a pool differ."""
    before, after = (
        {
            file.path: file.text
            for pool in (fleet.pool(name),)
            for file in platform_files(pool.platform).pool_files(fleet, pool)
            if pool.ownership is not Ownership.EXISTING
        }
        for fleet in (old, new)
    )
    return before != after


def _compared(old: Any, new: Any) -> list[FieldDifference]:
    before, after = dict(leaves(old)), dict(leaves(new))
    return [
        FieldDifference(path, before.get(path, ABSENT), after.get(path, ABSENT))
        for path in dict.fromkeys((*before, *after))
        if before.get(path) != after.get(path)
    ]


Resources = Mapping[str, Mapping[str, Any]]


def resource_changes(
    old: Fleet, new: Fleet, name: str
) -> Iterator[tuple[ResourceChange, list[FieldDifference]]]:
    """The engine's operation on each different resource of a pool, and the different inputs of the
    resource, each with its class."""
    before, after = resources_of(old, name), resources_of(new, name)
    rules = platform_rules((new if after else old).platform)
    for resource in dict.fromkeys((*before, *after)):
        one, two = before.get(resource), after.get(resource)
        if one is None or two is None:
            found = [_whole(rules, resource, before, after)]
            operation = ResourceOperation.CREATE if one is None else ResourceOperation.DELETE
        else:
            found = list(rules.input_differences(_kind(resource), one, two))
            replaced = any(one.leaf_class is LeafClass.REPLACEMENT for one in found)
            operation = ResourceOperation.REPLACE if replaced else ResourceOperation.UPDATE
        if found:
            yield ResourceChange(resource, operation), [_shown(resource, one) for one in found]


def engine_changes(old: Fleet, new: Fleet, name: str) -> tuple[ResourceChange, ...]:
    """The engine's operation on each different resource of a pool."""
    return tuple(change for change, _ in resource_changes(old, new, name))


def resources_of(fleet: Fleet, name: str) -> Resources:
    """Resources that the fleet registers for a pool of that name; none if it has no such pool, or
    if its nodes already exist."""
    pool = next((one for one in fleet.pools if one.name == name), None)
    if pool is None or pool.ownership is Ownership.EXISTING:
        return {}
    return platform_rules(pool.platform).registered(fleet, pool)


def _whole(
    rules: PlatformRules, resource: str, before: Resources, after: Resources
) -> InputDifference:
    """An added or removed resource. If no machine of a pool stays, its nodes are replaced."""
    one, two = before.get(resource), after.get(resource)
    kind = _kind(resource)
    leaf_class = rules.input_class(kind, "", one, two)
    stay = any(_kind(other) == kind for other in before.keys() & after.keys())
    others = any(_kind(other) == kind for other in after) and two is None
    if kind in rules.node_kinds and others and not stay:
        leaf_class = LeafClass.REPLACEMENT
    return InputDifference("", one, two, leaf_class)


def _shown(resource: str, one: InputDifference) -> FieldDifference:
    field = f"{resource}.{one.path}" if one.path else resource
    return FieldDifference(field, _text(one.old), _text(one.new), one.leaf_class, one.refusal)


def _text(value: object) -> str:
    if value is None:
        return "none"
    return "declared" if isinstance(value, Mapping) else str(value)


def _kind(resource: str) -> str:
    return plain(resource).partition("/")[0]


# Differences in the rendered files, and their effects; files of single pools are excluded, as
# their inputs show the differences.

ABSENT = "none"
"""Text for a side without the field, or with its default."""

_OPERANDS = ("cluster-policy.yaml", "nic-cluster-policy.yaml", "subscription.yaml")
_CONTROLLERS = (
    *("manifests/openshift/cluster-autoscaler.yaml", "manifests/node-feature-discovery/"),
    *("manifests/gke/gpudirect-", "manifests/gke/driver-installer"),
)
_LIVE = (
    *("manifests/gpu-operator/", "manifests/network-operator/", "manifests/nvidia-device-plugin/"),
    *("manifests/kueue/", "manifests/monitoring/", "manifests/dra/", "manifests/quotas/"),
    *("dashboards/", "manifests/nim/", "manifests/acceptance/"),
)
"""Folders of objects that programs read while they run: ConfigMaps, queues, rules, quotas."""
_OF_DRIVER = ("driver", "gds", "gdrcopy", "daemonsets", "ofedDriver")
"""Parts of the operators' settings that determine the driver's pods: the operators replace such
pods node by node when their DaemonSet differs (NVIDIA/k8s-operator-libs 355bbfc
`pkg/upgrade/common_manager.go`, `podInSyncWithDS` compares the revisions)."""


def file_differences(old: Fleet, new: Fleet) -> Iterator[FieldDifference]:
    """Every different file outside single pools, by its top-level keys."""
    before, after = _shared(old), _shared(new)
    for path in dict.fromkeys((*before, *after)):
        one, two = before.get(path), after.get(path)
        if one is not None and two is not None and one.text == two.text:
            continue
        file = one or two
        assert file is not None
        drivers = any(
            fleet.addons.gpu_operator.driver or fleet.addons.network_operator.enabled
            for fleet in (old, new)
        )
        yield from _of_file(file, _read(one), _read(two), drivers=drivers)


def _of_file(file: Artefact, old: Any, new: Any, *, drivers: bool) -> Iterator[FieldDifference]:
    groups: dict[str, list[tuple[str, Any, Any]]] = {}
    for path, one, two in differing(old, new):
        groups.setdefault(_operand(path) if _by_operand(file) else "", []).append((path, one, two))
    for operand, found in groups.items():
        leaf_class = file_class(file.path, file.kind)
        if leaf_class is LeafClass.OPERAND and drivers and operand in _OF_DRIVER:
            leaf_class = LeafClass.DRIVER
        field = f"{file.path} {operand}".strip()
        if len(found) == 1 and not isinstance(found[0][1] or found[0][2], Mapping | list):
            path, one, two = found[0]
            path = path.removeprefix("[0].").removeprefix("[0]")
            before, after = (ABSENT if value is None else str(value) for value in (one, two))
            yield FieldDifference(f"{file.path} {path}".strip(), before, after, leaf_class)
        else:
            there = [ABSENT if all(row[i] is None for row in found) else "" for i in (1, 2)]
            count = f"{len(found)} values"
            yield FieldDifference(field, there[0] or count, there[1] or count, leaf_class)


def file_class(path: str, kind: ArtefactKind) -> LeafClass:
    """The effect of a changed file."""
    if kind in {ArtefactKind.CONFIG, ArtefactKind.SNIPPET}:
        return LeafClass.NONE  # not applied: a manifest has the same content, or pods will
    if kind is ArtefactKind.VALUES or path.endswith(_OPERANDS) or path.startswith(_CONTROLLERS):
        return LeafClass.OPERAND
    return LeafClass.LIVE if path.startswith(_LIVE) else LeafClass.UNKNOWN


def _by_operand(file: Artefact) -> bool:
    return file.kind is ArtefactKind.VALUES or file.path.endswith("cluster-policy.yaml")


def _operand(path: str) -> str:
    """`devicePlugin` of `[0].devicePlugin.env`, or of `[0].spec.devicePlugin.env`."""
    parts = [part for part in path.split(".") if not part.startswith("[")]
    return parts[1 if parts[:1] == ["spec"] and len(parts) > 1 else 0] if parts else ""


def _shared(fleet: Fleet) -> dict[str, Artefact]:
    own = {
        file.path
        for pool in fleet.pools
        for file in platform_files(pool.platform).pool_files(fleet, pool)
    }
    return {file.path: file for file in artefacts(fleet) if file.path not in own}


def _read(file: Artefact | None) -> Any:
    """The documents of a file. Text that is not valid YAML, such as a table of metrics, stays
    text."""
    if file is None:
        return None
    try:
        return list(yaml.safe_load_all(file.text))
    except yaml.YAMLError:
        return file.text
