"""One rendered file: its path and its purpose.

`files.jsonl` of a folder has a row for each file that the modules there write:

* `path`, with `{name}` for a fact,
* `kind`; left out: a manifest,
* `purpose`, and a `comment` before the documents where there is one, with facts too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from gpufleet.documents.writing import commented, yaml_stream, yaml_text
from gpufleet.findings.rows import filled


class ArtefactKind(StrEnum):
    """Use of a file."""

    MANIFEST = "manifest"
    """Applied to the cluster."""
    VALUES = "values"
    """Given to a Helm chart."""
    CONFIG = "config"
    """Configuration of an NVIDIA program, as the program reads it; a manifest holds it too."""
    ARGUMENTS = "arguments"
    """Arguments of a cloud resource."""
    SNIPPET = "snippet"
    """Fragment that the user pastes into a pod template."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """One file."""

    path: str
    """Relative, with `/`; made of the pool's name and nothing that changes with a layout."""
    kind: ArtefactKind
    purpose: str
    """Purpose of the file, in one line."""
    text: str


class FileWriter(Protocol):
    """Writes files of one folder's rows."""

    def __call__(
        self,
        row: str,
        content: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | None,
        **facts: object,
    ) -> tuple[Artefact, ...]:
        """The file of a row; empty without content.

        Args:
            row: Its `path`.
            content: One document, several, or the text itself.
            facts: Values in path, purpose and comment.
        """
        ...


def files_in(module: str) -> FileWriter:
    """The writer of files for the modules of a folder, of which `module` is one."""
    folder = Path(module).parent

    def written(
        row: str,
        content: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | None,
        **facts: object,
    ) -> tuple[Artefact, ...]:
        if not content:
            return ()
        kind, purpose, comment = _rows(folder)[row]
        head = commented(filled(comment, facts))
        if isinstance(content, str):
            text = content
        else:
            text = yaml_text(content) if isinstance(content, Mapping) else yaml_stream(content)
        return (Artefact(filled(row, facts), kind, filled(purpose, facts), head + text),)

    return written


@cache
def _rows(folder: Path) -> Mapping[str, tuple[ArtefactKind, str, str]]:
    """Path -> kind, purpose and comment."""
    rows = map(json.loads, (folder / "files.jsonl").read_text(encoding="utf-8").splitlines())
    return {
        one["path"]: (
            ArtefactKind(one.get("kind", "manifest")),
            one["purpose"],
            one.get("comment", ""),
        )
        for one in rows
    }
