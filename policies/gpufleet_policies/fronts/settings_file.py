"""The settings file that all fronts share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_strict
from gpufleet.documents.shapes import mapping

NAMES = ("gpu-policy.yaml", "gpu-policy.json")
"""Names it may have."""


def settings_alongside(folder: Path) -> Mapping[str, Any]:
    """The settings in a folder, empty without a file.

    Raises ValueError when the file is no mapping, or no YAML.
    """
    for name in NAMES:
        path = folder / name
        if path.is_file():
            return read_settings_file(path)
    return {}


def read_settings_file(path: Path) -> Mapping[str, Any]:
    """The settings of one file; an empty one means the defaults.

    Raises OSError when it cannot be read, ValueError when it is no mapping, or no YAML.
    """
    try:
        found = read_strict(path.read_bytes(), "settings file").data
    except UnreadableDocumentError as problem:
        raise ValueError(f"{path}: {problem}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise ValueError(f"{path}: must be a mapping of settings, found {kind}")  # noqa: TRY004
    return mapping(found)
