"""Differences in the rendered files, and their effects; files of single pools are excluded, as
their inputs show the differences."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from gpufleet.change.plan import FieldDifference
from gpufleet.fleet.input_differences import differing
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet.render.platform_files import platform_files

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
            yield FieldDifference(f"{file.path} {path}".strip(), _text(one), _text(two), leaf_class)
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


def _text(value: object) -> str:
    return ABSENT if value is None else str(value)
