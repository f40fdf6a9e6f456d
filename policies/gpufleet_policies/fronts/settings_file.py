"""The settings file that all fronts share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMES = ("gpu-policy.yaml", "gpu-policy.json")
"""Names it may have."""


def settings_beside(folder: Path) -> Mapping[str, Any]:
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
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = "" if mark is None else f"line {mark.line + 1}: "
        what = getattr(problem, "problem", None) or "no YAML"
        raise ValueError(f"{path}: {line}{what}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise ValueError(f"{path}: must be a mapping of settings, found {kind}")  # noqa: TRY004
    return found
