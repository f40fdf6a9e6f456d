"""Schemas of Kubernetes' kinds and of custom resources, as their vendors publish them.

One file for each API group in `data/<edition>/schemas`, without prose, written by
`tools/schemas/generate.py`; each file names its repository, release and date. A file is read at the
first use of one of its kinds.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from gpufleet.catalogue.edition import DEFAULT_EDITION, edition_folder

KUBERNETES = "kubernetes"
"""The file of Kubernetes' own kinds; all others hold custom resources."""
METADATA = "metadata"
"""The file of the metadata of every object."""


@dataclass(frozen=True, slots=True)
class SchemaSource:
    """Source of the schemas of a file."""

    repository: str
    release: str
    commit: str
    """Empty where the release alone is known."""
    path: str
    date: str
    """Day of the release, or the day it was read."""

    def __str__(self) -> str:
        return f"{self.repository} {self.release} {self.path}"


@cache
def schema_kinds() -> Mapping[str, Mapping[str, str]]:
    """API version -> kind -> name of the file that has its schema."""
    return cast("dict[str, dict[str, str]]", _read("index"))


@cache
def schema_file(name: str) -> Mapping[str, Any]:
    """Content of a file: `kinds` (with names, scope and versions, or references) and `$defs`."""
    return _read(name)


def schema_source(api_version: str, kind: str) -> SchemaSource | None:
    """Source of the schema of a kind; None: the kind has no schema."""
    name = schema_kinds().get(api_version, {}).get(kind)
    return None if name is None else SchemaSource(**schema_file(name)["source"])


def served_versions(kind: str, group: str) -> tuple[str, ...]:
    """API versions of a group that have a schema of this kind."""
    return tuple(
        version
        for version, kinds in schema_kinds().items()
        if kind in kinds and version.rpartition("/")[0] == group
    )


def _read(name: str) -> dict[str, Any]:
    path = edition_folder(DEFAULT_EDITION) / "schemas" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))
