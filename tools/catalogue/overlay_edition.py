"""Collected facts as an overlay: a folder that `catalogueOverlay` names, complete or absent.

The folder is written next to its place, flushed to disk, validated as any overlay is, and then
renamed. An interrupted run leaves nothing at the place itself.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.catalogue.difference import RowChange
from tools.catalogue.publication import Publication

Document = dict[str, Any]


def overlay_documents(
    changes: Iterable[RowChange], publications: Mapping[str, tuple[str, Publication]]
) -> dict[str, Document]:
    """Name of a file -> its document: one for each source that a changed row rests on.

    `publications`: source -> its title and what was collected. Charts, images and models are not
    among them: their rows need reading by a person.
    """
    # Only a refresh needs the models of the rows, which take a tenth of a second to build.
    from pydantic.alias_generators import to_camel

    from gpufleet.catalogue.overlay_rows import InstanceRow

    documents: dict[str, Document] = {}
    for change in changes:
        cloud = change.table.rpartition("-")[2]
        if change.table.startswith("prices-"):
            table, names = "prices", ("instance", "buy", "region", "usd", "usd_high")
        elif change.table == "spot-advisor-aws":
            table, names = "spotAdvisor", ("instance", "region", "interruption", "saving_percent")
        elif change.table.startswith("instances-"):
            table, names = "instances", tuple(InstanceRow.model_fields)
        else:
            continue
        row = {to_camel(name): change.row[name] for name in names if name in change.row}
        if table == "instances":
            row["cloud"] = cloud
        source = change.fields[0].source
        title, publication = publications[source]
        document = documents.setdefault(
            f"{source}.json",
            {
                "date": publication.day.isoformat(),
                "source": f"{title}, {publication.version}",
            },
        )
        document.setdefault(table, []).append(row)
    return documents


def check_place(out: Path) -> str | None:
    """Why nothing can be written there; None where it can. A folder that exists must be empty."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        return "is there and no folder"
    if out.is_dir() and any(out.iterdir()):
        return "is there and not empty: name a new folder, an edition is never changed"
    if not out.absolute().parent.is_dir():
        return f"there is no folder {out.absolute().parent}"
    return None


def write_edition(
    out: Path, documents: Mapping[str, Document], validate: Callable[[Path], Sequence[Any]]
) -> Sequence[Any]:
    """Write the folder, unless `validate` finds something in it; what it found.

    Raises OSError when it cannot be written; nothing is left then.
    """
    place = out.absolute()
    draft = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        for name, document in documents.items():
            _write(draft / name, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        findings = validate(draft)
        if not findings:
            draft.chmod(0o755)
            _force(draft)
            draft.rename(place)
            _force(place.parent)
        return findings
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _force(folder: Path) -> None:
    """Entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
