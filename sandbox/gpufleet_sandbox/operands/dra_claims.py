"""Preparing a claim as the driver does it: its configurations, decoded strictly and validated.

Follows v0.4.1 `api/nvidia.com/resource/v1beta1` and `cmd/gpu-kubelet-plugin/device_state.go`. A
refusal leaves the pod in ContainerCreating on a real node.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet_sandbox.operands.dra_driver import DRIVER_NAME

API_VERSION = "resource.nvidia.com/v1beta1"
_SHARING = {
    "GpuConfig": {"strategy", "timeSlicingConfig", "mpsConfig"},
    "MigDeviceConfig": {"strategy", "mpsConfig"},
}
_MPS = {
    "defaultActiveThreadPercentage",
    "defaultPinnedDeviceMemoryLimit",
    "defaultPerDevicePinnedMemoryLimit",
}
_INTERVALS = ("Default", "Short", "Medium", "Long")
_QUANTITY = re.compile(r"^([0-9]+)(Ki|Mi|Gi|Ti|k|M|G|T)?$")
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_UNITS |= {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "": 1}


class ClaimError(Exception):
    """The driver refuses to prepare the claim; the text is its reason."""


def allocated_on(claim: Mapping[str, Any], node: str) -> list[str]:
    """Devices of the driver on this node that the claim was given."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or []
    return [r["device"] for r in results if r.get("driver") == DRIVER_NAME and r["pool"] == node]


def check_claim(claim: Mapping[str, Any], node: str, gates: Mapping[str, bool]) -> None:
    """Decode and validate what applies to the claim's devices on this node; raises ClaimError."""
    allocation = claim["status"]["allocation"]["devices"]
    for entry in allocation.get("config") or []:
        opaque = entry.get("opaque")
        if opaque is None or opaque.get("driver") != DRIVER_NAME:
            continue
        requests = set(entry.get("requests") or [])
        given = [
            result["device"]
            for result in allocation["results"]
            if result.get("driver") == DRIVER_NAME
            and result["pool"] == node
            and (not requests or result["request"].split("/")[0] in requests)
        ]
        _check_config(opaque.get("parameters"), given, gates)


def _check_config(data: Any, devices: Iterable[str], gates: Mapping[str, bool]) -> None:
    if not isinstance(data, Mapping):
        raise ClaimError("error decoding config parameters: no object")
    kind, version = data.get("kind"), data.get("apiVersion")
    if version != API_VERSION or kind not in (*_SHARING, "VfioDeviceConfig"):
        raise ClaimError(
            f'error decoding config parameters: no kind "{kind}" is registered for version '
            f'"{version}"'
        )
    if kind == "VfioDeviceConfig":
        raise ClaimError("feature gate PassthroughSupport is off: no VFIO device is served")
    _only(data, {"apiVersion", "kind", "sharing"}, "")
    for device in devices:
        if ("-mig-" in device) != (kind == "MigDeviceConfig"):
            raise ClaimError(f"cannot apply {kind} to request: device {device} is of another type")
    sharing = data.get("sharing")
    if sharing is not None:
        _check_sharing(kind, sharing, gates)


def _check_sharing(kind: str, sharing: Any, gates: Mapping[str, bool]) -> None:
    if not isinstance(sharing, Mapping):
        raise ClaimError("error decoding config parameters: sharing is not an object")
    _only(sharing, _SHARING[kind], "sharing.")
    strategy = sharing.get("strategy", "")
    needed = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}.get(strategy)
    if needed is None or not gates[needed]:
        raise ClaimError(f'config validation failed: unknown GPU sharing strategy: "{strategy}"')
    turns, mps = sharing.get("timeSlicingConfig"), sharing.get("mpsConfig")
    if turns is not None:
        _only(turns, {"interval"}, "sharing.timeSlicingConfig.")
        if "interval" not in turns:
            raise ClaimError("panic: invalid memory address or nil pointer dereference (interval)")
        if turns["interval"] not in _INTERVALS:
            raise ClaimError(f'config validation failed: unknown time-slice: "{turns["interval"]}"')
    if mps is not None:
        _check_mps(mps)
    if strategy == "MPS" and turns is not None:
        raise ClaimError("cannot use TimeSlicingConfig with sharing strategy MPS")
    if strategy == "TimeSlicing" and mps is not None:
        raise ClaimError("cannot use MpsConfig with sharing strategy TimeSlicing")


def _check_mps(mps: Mapping[str, Any]) -> None:
    _only(mps, _MPS, "sharing.mpsConfig.")
    threads = mps.get("defaultActiveThreadPercentage")
    if threads is not None and not 0 <= threads <= 100:
        raise ClaimError(f"config validation failed: active thread percentage {threads}")
    limits = dict(mps.get("defaultPerDevicePinnedMemoryLimit") or {})
    if "defaultPinnedDeviceMemoryLimit" in mps:
        limits["default"] = mps["defaultPinnedDeviceMemoryLimit"]
    for device, quantity in limits.items():
        match = _QUANTITY.match(str(quantity))
        if match is None:
            raise ClaimError(f"error decoding config parameters: quantity {quantity!r}")
        if int(match[1]) * _UNITS[match[2] or ""] < 2**20:
            raise ClaimError(f"invalid limit: value set too low: {device}: {quantity}")


def _only(data: Any, allowed: set[str], prefix: str) -> None:
    """Decoding is strict: the first unknown field ends it."""
    if not isinstance(data, Mapping):
        raise ClaimError(f'error decoding config parameters: "{prefix[:-1]}" is not an object')
    unknown = sorted(set(data) - allowed)
    if unknown:
        raise ClaimError(
            f"error decoding config parameters: strict decoding error: unknown field "
            f'"{prefix}{unknown[0]}"'
        )
