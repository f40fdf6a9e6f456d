"""An overlay: facts of one's own on top of an edition, in one file or in a folder of files. A file
of prices is one.

    date: 2026-11-20
    source: Price list of the regional provider
    gpus: [...]
    instances: [...]
    prices: [...]
    models: [...]
    images: [...]
    charts: [...]
    spotAdvisor: [...]

A row with the name of an edition's row replaces it. docs/catalogue.md has the fields.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.catalogue.overlay import Overlay
from gpufleet.catalogue.source import SourceEntry
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_strict
from gpufleet.findings import Finding, error
from gpufleet.messages import shown_value

HEAD = ("date", "source")


def read_overlay(paths: Iterable[Path]) -> tuple[Overlay, list[Finding]]:
    """The overlay of files, and of all YAML and JSON files of folders in the order of their names,
    and every problem of every file. Rows with a problem are left out."""
    reader = _Reader()
    for path in paths:
        files = files_of(path)
        if not files:
            reader.add(
                "overlay-not-found",
                "",
                f"no overlay at {path}: neither a file nor a folder of YAML or JSON files",
                "write the path from the working directory",
            )
        for file in files:
            reader.read(file)
    overlay = Overlay(
        {table: tuple(rows.values()) for table, rows in reader.rows.items()},
        reader.sources,
        {source: tuple(rows.values()) for source, rows in reader.prices.items()},
        {table: frozenset(names) for table, names in reader.named.items()},
    )
    return overlay, reader.findings


def files_of(path: Path) -> list[Path]:
    """The file itself, or the YAML and JSON files of a folder in the order of their names."""
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml", ".json"))
    return [path] if path.exists() else []


class _Reader:
    """Collects rows and findings of all files."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.rows: dict[str, dict[tuple[Any, ...], RawRow]] = {}
        self.sources: dict[str, SourceEntry] = {}
        self.prices: dict[str, dict[tuple[Any, ...], RawRow]] = {}
        self.named: dict[str, set[str]] = {}

    def add(self, code: str, path: str, message: str, fix: str | None = None) -> None:
        self.findings.append(error(code, path, message, fix))

    def read(self, file: Path) -> None:
        # Only overlays need the models of the rows, which take a tenth of a second to build.
        from gpufleet.catalogue.overlay_rows import TABLES

        document = self._document(file)
        if document is None:
            return
        known = (*HEAD, *TABLES)
        for key in document:
            if key not in known:
                near = nearest_names(str(key), known, 1)
                fix = f"write {near[0]}" if near else f"known: {', '.join(known)}"
                self.add("overlay-unknown-table", f"{file.name}.{key}", f"unknown {key!r}", fix)
        day = self._day(document, file)
        source = f"overlay:{file.name}"
        title = str(document.get("source", f"Overlay {file.name}"))
        self.sources[source] = SourceEntry(source, title, file.name, day, False, "")
        for table, (model, names) in TABLES.items():
            for index, raw in enumerate(self._list(document, table, file)):
                self._row(file, table, index, raw, model, names, source)

    def _document(self, file: Path) -> dict[str, Any] | None:
        try:
            data = read_strict(file.read_bytes(), "overlay").data
        except (OSError, UnreadableDocumentError) as problem:
            self.add("overlay-unreadable", file.name, f"cannot be read: {problem}")
            return None
        if not isinstance(data, dict):
            self.add("overlay-unreadable", file.name, "is not a mapping of tables")
            return None
        return cast("dict[str, Any]", data)

    def _day(self, document: Mapping[str, Any], file: Path) -> date:
        value = document.get("date")
        try:
            return value if type(value) is date else date.fromisoformat(str(value))
        except ValueError:
            message = f"date must be the day the facts are of, found {shown_value(value)}"
            self.add("overlay-bad-date", f"{file.name}.date", message, "date: 2026-11-20")
            return date.min

    def _list(self, document: Mapping[str, Any], table: str, file: Path) -> list[Any]:
        rows = document.get(table, [])
        if isinstance(rows, list):
            return cast("list[Any]", rows)
        self.add("overlay-shape", f"{file.name}.{table}", f"{table} must be a list of rows")
        return []

    def _row(
        self,
        file: Path,
        table: str,
        index: int,
        raw: Any,
        model: Any,
        names: tuple[str, ...],
        source: str,
    ) -> None:
        import json

        from pydantic import ValidationError

        place = f"{file.name}.{table}[{index}]"
        if isinstance(raw, dict):
            self.named.setdefault(table, set()).add(str(cast("RawRow", raw).get(names[0])))
        try:
            # JSON, in which strict models take lists for tuples; days become text.
            row = cast("RawRow", model.model_validate_json(json.dumps(raw, default=str)).row())
        except ValidationError as problem:
            for one in problem.errors(include_url=False):
                where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in one["loc"])
                self.add("overlay-bad-row", f"{place}{where}", _message(one))
            return
        target = {"spotAdvisor": "spot-advisor-aws"}.get(table, table)
        if table == "instances":
            target = f"{table}-{row.pop('cloud')}"
        # A later file's prices replace those of the same region; other rows have one description.
        of_file = table == "prices"
        rows = (self.prices if of_file else self.rows).setdefault(source if of_file else target, {})
        name = tuple(row.get(one) for one in names)
        if name in rows:
            self.add("overlay-duplicate", place, f"a second row of {', '.join(filter(None, name))}")
        rows[name] = {**row, "source": source}


def _message(problem: Any) -> str:
    """Error text of a field, with its value."""
    if problem["type"] == "missing":
        return "is needed"
    if problem["type"] == "extra_forbidden":
        return "is not a field of this table (docs/catalogue.md)"
    said = problem["msg"].removeprefix("Value error, ")
    if (wanted := said.removeprefix("Input should be ")) != said:
        said = f"must be {_WORDS.get(wanted.split(',')[0], wanted)}"
    found = problem["input"]
    return said if isinstance(found, dict) else f"{said}, found {shown_value(found)}"


_WORDS = {
    "an object": "a mapping",
    "a valid array": "a list",
    "a valid tuple": "a list",
    "a valid string": "text",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
}
"""What a field must be, as pydantic says it and as authors of files do."""
