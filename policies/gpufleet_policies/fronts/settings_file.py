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
"""What a project that must have settings gets where they are missing: a file that `gpufleet
policies init` wrote with this profile was deleted or emptied, which is not to be less strict."""


def settings_of_pack(folder: Path) -> tuple[Mapping[str, Any], str]:
    """The settings of a pack, and a sentence where they are missing and the safe ones hold.

    Raises as `settings_alongside`.
    """
    found = settings_alongside(folder)
    if found:
        return found, ""
    files = [name for name in NAMES if (folder / name).is_file()]
    return SAFE_SETTINGS, missing(f"the pack's {files[0]} is empty" if files else _NO_FILE)


def missing(what: str) -> str:
    """Says that settings are missing, and which levels hold without them."""
    return f"{what}, so the levels of profile `prod` hold; write `profile:` prod, dev, strict or auto into it"


_NO_FILE = f"the pack's settings file {NAMES[0]} is missing"


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
