"""The data files of renderers: dashboards, alerts and recording rules in `monitoring/`, objects of
other programs in `objects/` (`documents/data_files.py` has their form)."""

from pathlib import Path
from typing import Any

from gpufleet.documents import data_files
from gpufleet.documents.data_files import Parameters

FOLDER = Path(__file__).parent / "monitoring"
OBJECTS = Path(__file__).parent / "objects"


def data_part(file: str | Path, part: str, /, **parameters: Any) -> Any:
    """A part of a file in `objects/`, or of one elsewhere by its path without suffix."""
    return data_files.data_part(OBJECTS / file, part, **parameters)


def data_file(name: str, parameters: Parameters, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The content of a file; None: its own `if` is not fulfilled."""
    return data_files.data_file(folder / name, parameters)
