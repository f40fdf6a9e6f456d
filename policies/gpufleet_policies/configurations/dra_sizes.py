"""Lists of a claim that the API server limits.

Source: kubernetes/kubernetes pkg/apis/resource/types.go, DeviceRequestsMaxSize and
FirstAvailableDeviceRequestMaxSize.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping

LARGEST = {"requests": 32, "firstAvailable": 8}
"""Maximum number of entries."""
_FIXES = {
    "requests": "ask for several like devices by `count`, or make another claim",
    "firstAvailable": "keep those that are preferred",
}


def validate_sizes(devices: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """Requests of a claim, and alternatives of each, at `path` of the document."""
    _validate(devices, "requests", path, report)
    for index, entry in enumerate(as_list(devices.get("requests")) or []):
        place = child(child(path, "requests"), index)
        _validate(as_mapping(entry) or {}, "firstAvailable", place, report)


def _validate(holder: Mapping[str, Any], field: str, path: str, report: CheckReport) -> None:
    found, limit = len(as_list(holder.get(field)) or []), LARGEST[field]
    if found > limit:
        report.add(
            "dra-value-invalid",
            child(path, field),
            f"{found} entries: the API server takes at most {limit}",
            _FIXES[field],
            value=found,
            limit=limit,
        )
