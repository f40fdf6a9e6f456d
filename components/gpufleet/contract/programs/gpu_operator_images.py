"""Images of the GPU Operator's operands: three fields that depend on each other, driver versions.

Source: NVIDIA/gpu-operator internal/image/image.go (ImagePath), controllers/object_controls.go
(resolveDriverTag).
"""

import re
from collections.abc import Mapping
from typing import Any

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import as_mapping

_PARTS = ("repository", "image", "version")
_ON = ("driver", "toolkit", "devicePlugin", "dcgmExporter", "gfd", "migManager")
"""Sections whose image has a default in the chart and which run unless they are switched off."""
_POLICY = (*_ON, "driver.manager", "validator", "nodeStatusExporter", "operator.initContainer")
_OPTIONAL = ("dcgm", "gds", "gdrcopy", "vgpuManager")
"""Sections that run only if they are switched on."""
_SYSTEM = re.compile(
    r"-(ubuntu|rhel|rhcos|rocky|centos|sles|sle|sl-micro|debian|flatcar|fedora|amzn|cos)[\d.]+$"
)


def validate_policy_images(spec: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """Images of a whole ClusterPolicy: its definition has no default for any part."""
    for name in (*_POLICY, *_OPTIONAL):
        section = as_mapping(value_at(spec, name))
        if section is None or not _runs(spec, name):
            continue
        written = {part: section.get(part) or "" for part in _PARTS}
        if written["repository"] or written["version"]:
            _report(name, [part for part in _PARTS if not written[part]], path, report)


def validate_value_images(values: Mapping[str, Any], report: CheckReport) -> None:
    """Images of values: a part that is emptied is left out of the ClusterPolicy."""
    for name in (*_ON, *(optional for optional in _OPTIONAL if optional != "vgpuManager")):
        section = as_mapping(value_at(values, name)) or {}
        emptied = [part for part in _PARTS if section.get(part, "default") == ""]
        whole = {"repository", "version"} <= set(emptied)  # `image` is the whole reference then
        if emptied and not whole and _runs(values, name):
            _report(name, emptied, "", report)


def validate_driver_version(version: Any, path: str, report: CheckReport) -> None:
    """The operator appends the operating system of the node to the version."""
    found = _SYSTEM.search(version) if isinstance(version, str) else None
    if found is not None and isinstance(version, str):
        report.say(
            "gpu-operator-driver-version-os",
            path,
            value=version,
            system=found[0],
            branch=version[: found.start()],
        )


def _runs(data: Mapping[str, Any], name: str) -> bool:
    section = name.partition(".")[0]
    enabled = value_at(data, f"{section}.enabled")
    return enabled is True if section in _OPTIONAL else enabled is not False


def _report(name: str, missing: list[str], path: str, report: CheckReport) -> None:
    if missing:
        place = f"{path}.{name}" if path else name
        report.add(
            "gpu-operator-image-incomplete",
            f"{place}.{missing[0]}",
            f"{name} has an image without {' and '.join(missing)}: the reference cannot be built",
            "write repository, image and version, or none of them",
            missing=tuple(missing),
        )
