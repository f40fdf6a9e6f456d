"""Variables of the operands: their names and values (`environment.jsonl`), and the containerd paths
of the container toolkit on k3s and RKE2.

Sources: docs.rke2.io "Deploy NVIDIA operator" (CONTAINERD_SOCKET alone), NVIDIA/gpu-operator#406
(socket), #473 (config.toml is generated again), #992 (config.toml.tmpl replaces what is generated).
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.contract.programs.unknown_keys import report_misspelt
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child, entries_at, value_at
from gpufleet.documents.shapes import as_mapping

_BOOL = {
    form: word
    for word in ("true", "false")
    for form in (word, word[0], word.title(), word.upper(), word[0].upper())
} | {"1": "true", "0": "false"}
"""Values that Go's strconv.ParseBool accepts, and their meaning."""


@cache
def _variables() -> Mapping[str, Mapping[str, Any]]:
    """Section of the values -> name of a variable -> its allowed values: None, "bool" or words."""
    text = Path(__file__).with_name("environment.jsonl").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = {}
    for row in map(json.loads, text.splitlines()):
        found.setdefault(row["section"], {})[row["name"]] = row.get("values")
    return found


def validate_environment(data: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """The variables of all operands, of values or a ClusterPolicy."""
    root = f"{path}." if path else ""
    for section, known in _variables().items():
        for place, item in entries_at(data, f"{section}.env"):
            name, value, where = item.get("name"), item.get("value"), f"{root}{place}"
            if not isinstance(name, str) or not isinstance(value, str):
                continue
            words = _BOOL if known.get(name) == "bool" else known.get(name) or (value,)
            if name not in known:
                alike = [one for one in known if one.count("_") == name.count("_")]
                report_misspelt(report, child(where, "name"), name, alike, section)
            elif value and value not in words:
                allowed = ", ".join(dict.fromkeys(_BOOL.values() if words is _BOOL else words))
                report.say(
                    "gpu-operator-choice-unknown/variable",
                    child(where, "value"),
                    value=value,
                    name=name,
                    allowed=allowed,
                )


def validate_runtime_paths(data: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """The variables of `toolkit.env`, of values or a ClusterPolicy."""
    if value_at(data, "toolkit.enabled") is False:
        return
    root = f"{path}." if path else ""
    found = {
        item["name"]: (item["value"], child(f"{root}{place}", "value"))
        for place, item in entries_at(data, "toolkit.env")
        if isinstance(item.get("name"), str) and isinstance(item.get("value"), str)
    }
    config, config_place = found.get("CONTAINERD_CONFIG", ("", f"{root}toolkit.env"))
    socket, socket_place = found.get("CONTAINERD_SOCKET", ("", config_place))
    report.apply(
        "containerd",
        config=config,
        config_place=config_place,
        socket=socket,
        socket_place=socket_place,
        used=socket or "not set, so /run/containerd/containerd.sock",
    )


# Images of the GPU Operator's operands: three fields that depend on each other, driver versions.
#
# Source: NVIDIA/gpu-operator internal/image/image.go (ImagePath), controllers/object_controls.go
# (resolveDriverTag).

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
