"""The settings file that all fronts share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_strict
from gpufleet.documents.shapes import mapping

NAMES = ("gpu-policy.yaml", "gpu-policy.json")
"""Names it may have."""

SAFE_SETTINGS: Mapping[str, Any] = {"profile": "prod"}
"""Default settings where the settings file is missing or empty: those that `gpufleet policies init`
writes. Without them, a deleted file would turn refusals into advice."""


def settings_file(folder: Path) -> Path | None:
    """The settings file of a folder; None: it has none."""
    return next((path for name in NAMES if (path := folder / name).is_file()), None)


def settings_of_pack(folder: Path) -> tuple[Mapping[str, Any], str]:
    """The settings of a pack, and a sentence where they are missing and the safe ones hold.

    Raises as `read_settings_file`.
    """
    path = settings_file(folder)
    if path is None:
        missing = f"{folder / NAMES[0]} is missing, so the levels of profile `prod` hold; write it"
        return SAFE_SETTINGS, f"{missing} with `profile: prod`, or another profile"
    return settings_or_safe(path)


def settings_or_safe(path: Path) -> tuple[Mapping[str, Any], str]:
    """The settings of one file, and a sentence where it is empty and the safe ones hold.

    Raises as `read_settings_file`.
    """
    found = read_settings_file(path)
    if found is not None:
        return found, ""
    empty = f"{path} is empty, so the levels of profile `prod` hold"
    return SAFE_SETTINGS, f"{empty}; write `profile: prod`, or another profile, into it"


def read_settings_file(path: Path) -> Mapping[str, Any] | None:
    """The settings of one file; None: nothing is written in it.

    Raises OSError when it cannot be read, ValueError when it is not a mapping, or no YAML.
    """
    try:
        found = read_strict(path.read_bytes(), "settings file").data
    except UnreadableDocumentError as problem:
        raise ValueError(f"{path}: {problem}") from None
    if found is None:
        return None
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise ValueError(f"{path}: must be a mapping of settings, found {kind}")  # noqa: TRY004
    return mapping(found)
