"""Editions on disk: one folder each, one JSON object per line, one line per fact."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

from gpufleet.catalogue.lookup import UnknownKeyError, nearest_names

DATA = Path(__file__).parent / "data"
DEFAULT_EDITION = "2026.11"
"""The default edition."""

RawRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Edition:
    """Name, date and notes of an edition."""

    edition: str
    date: date
    """Day on which the facts were collected and checked."""
    notes: str


class UnknownEditionError(UnknownKeyError):
    """The edition does not exist; `nearest` lists the existing editions."""

    def __init__(self, kind: str, key: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(kind, key, nearest)
        self.args = (f"no catalogue edition {key!r}; there is {', '.join(self.nearest)}",)


def editions() -> tuple[str, ...]:
    """Names of all editions in this installation, oldest first."""
    return tuple(sorted(path.parent.name for path in DATA.glob("*/edition.json")))


def edition_folder(edition: str) -> Path:
    """The folder of an edition. Raises UnknownEditionError with a list of the editions."""
    known = editions()
    if edition not in known:
        close = nearest_names(edition, known, limit=len(known)) or known
        raise UnknownEditionError("edition", edition, close)
    return DATA / edition


def read_edition(folder: Path) -> Edition:
    """The edition's description of itself."""
    raw = cast("RawRow", json.loads((folder / "edition.json").read_text(encoding="utf-8")))
    return Edition(raw["edition"], date.fromisoformat(raw["date"]), raw.get("notes", ""))


def read_rows(folder: Path, table: str) -> list[RawRow]:
    """All lines of one file of an edition, parsed in one go."""
    text = (folder / f"{table}.jsonl").read_text(encoding="utf-8").rstrip("\n")
    return cast("list[RawRow]", json.loads("[" + text.replace("\n", ",") + "]"))
