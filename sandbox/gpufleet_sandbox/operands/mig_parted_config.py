"""The file mig-manager reads: format and rejections of mig-parted's `v1` configs.

Only what NVIDIA's parser rejects is rejected (rules MP-1 to MP-11). Profiles that do not exist on
the GPU, counts that do not fit and filters that match nothing pass, and fail later on the node.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.kubernetes_yaml import DocumentError, load_document, whole_number

_PROFILE = re.compile(r"^(?:[0-9]+c\.)?[0-9]+g\.[0-9]+gb(?P<attributes>[+-].*)?$")
_ATTRIBUTE = re.compile(r"^[A-Za-z](?:[A-Za-z0-9.]*[A-Za-z0-9])?$")


class MigConfigError(ValueError):
    """mig-parted refuses the file."""


@dataclass(frozen=True, slots=True)
class ParsedMigEntry:
    """One entry of a config: which GPUs, and what they become."""

    filters: tuple[str, ...]
    """PCI ids; empty: every board."""
    devices: tuple[int, ...] | None
    """GPU indices; None: all."""
    mig_enabled: bool
    mig_devices: Mapping[str, int]

    def concerns(self, index: int, pci_id: str) -> bool:
        """Whether the entry names this GPU. A filter of another form than the id never matches."""
        if self.filters and pci_id.upper() not in {text.upper() for text in self.filters}:
            return False
        return self.devices is None or index in self.devices


Config = tuple[ParsedMigEntry, ...]


def parse_configs(text: str) -> dict[str, Config]:
    """All configs of a file; raises MigConfigError with the parser's reason."""
    try:
        document = load_document(text)
    except DocumentError as problem:
        raise MigConfigError(str(problem)) from problem
    if not document:
        return {}
    if "version" not in document:
        raise MigConfigError("unable to parse with missing 'version' field")
    if document["version"] != "v1":
        raise MigConfigError(f"unknown version: {document['version']}")
    for key in document:
        if key not in ("version", "mig-configs"):
            raise MigConfigError(f"unexpected field: {key}")
    configs = document.get("mig-configs")
    if configs is None:
        return {}
    if not isinstance(configs, dict):
        raise MigConfigError("'mig-configs' must be a mapping of names to lists")
    if not configs:
        raise MigConfigError("at least one entry in 'mig-configs' is required")
    return {name: _config(name, entries) for name, entries in configs.items()}


def select(configs: Mapping[str, Config], name: str) -> Config:
    """The config of that name; raises MigConfigError when the file has none (MP-11)."""
    if name not in configs:
        raise MigConfigError(f"selected mig-config not present: {name}")
    return configs[name]


def _config(name: str, entries: Any) -> Config:
    if not isinstance(entries, list):
        raise MigConfigError(f"config '{name}' must be a list")
    if not entries:
        raise MigConfigError(f"at least one entry in '{name}' is required")
    return tuple(_entry(entry) for entry in entries)


def _entry(entry: Any) -> ParsedMigEntry:
    if not isinstance(entry, dict):
        raise MigConfigError("a config entry must be a mapping")
    for key in entry:
        if key not in ("device-filter", "devices", "mig-enabled", "mig-devices"):
            raise MigConfigError(f"unexpected field: {key}")
    for key in ("devices", "mig-enabled"):
        if key not in entry:
            raise MigConfigError(f"missing required field: {key}")
    enabled = entry["mig-enabled"]
    if not isinstance(enabled, bool):
        raise MigConfigError(f"'mig-enabled' must be a boolean, found {enabled!r}")
    mig_devices = entry.get("mig-devices")
    if enabled and mig_devices is None:
        raise MigConfigError("missing required field 'mig-devices' when 'mig-enabled' is true")
    counts = _counts({} if mig_devices is None else mig_devices)
    if not enabled and counts:
        raise MigConfigError("MIG devices included when 'mig-enabled' is false")
    return ParsedMigEntry(
        _filters(entry.get("device-filter")), _indices(entry["devices"]), enabled, counts
    )


def _filters(value: Any) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise MigConfigError(f"'device-filter' must be a string or a list of strings: {value!r}")
    return tuple(items)


def _indices(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, str):
        if value != "all":
            raise MigConfigError(f"invalid string input for 'devices': {value}")
        return None
    numbers = [whole_number(item) for item in value] if isinstance(value, list) else [None]
    if any(number is None for number in numbers):
        raise MigConfigError(f"'devices' must be 'all' or a list of GPU indices: {value!r}")
    return tuple(number for number in numbers if number is not None)


def _counts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise MigConfigError(f"'mig-devices' must be a mapping of profiles to counts: {value!r}")
    counts: dict[str, int] = {}
    for profile, count in value.items():
        check_profile(profile)
        number = whole_number(count)
        if number is None:
            raise MigConfigError(f"count of {profile} must be a whole number, found {count!r}")
        if number < 0:
            raise MigConfigError(f"invalid count for {profile}: {number} is negative")
        counts[profile] = number
    if counts and not any(counts.values()):
        raise MigConfigError("all counts in 'mig-devices' are zero")
    return counts


def check_profile(profile: str) -> None:
    """Raise MigConfigError when the name is outside NVIDIA's grammar (MP-8)."""
    match = _PROFILE.match(profile)
    if match is None:
        raise MigConfigError(f"invalid format for MIG profile: {profile}")
    attributes = match["attributes"]
    if attributes is None:
        return
    names = attributes[1:].split(",")
    if len(set(names)) != len(names) or not all(_ATTRIBUTE.match(name) for name in names):
        raise MigConfigError(f"invalid format for the attributes of MIG profile: {profile}")
