"""The Applications of an ApplicationSet, as far as its generators are literal or read the tree.

Generators: `list`, `git` (directories, files), and `matrix` of them. Of others the parameters are
not known: `{{...}}` stays in the Application, and every reader takes it for an unknown value.

Source: argoproj/argo-cd, user guide on ApplicationSet: generators, template, Go template.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.documents.paths import entries_at, mapping_at, text_at
from gpufleet.documents.shapes import as_mapping, is_list, is_mapping, mapping, rewritten

Parameters = Mapping[str, Any]
"""Name of a parameter in a template, without the first dot -> its value."""

_INDEX = re.compile(r"\{\{-?\s*index \.(?:path\.)?path\.segments (\d+)\s*-?\}\}")
_NAME = re.compile(r"\{\{-?\s*\.?([\w.\-\[\]]+)\s*-?\}\}")


@dataclass(frozen=True, slots=True)
class Repository:
    """What git generators read; paths are those below the root of the repository."""

    folders: Iterable[str] = ()
    files: Iterable[str] = ()
    read: Callable[[str], Any] = lambda _: None
    """Something with the `data` of a file; None: it has none."""


def applications(
    document: Mapping[str, Any], repository: Repository = Repository()
) -> Iterator[dict[str, Any]]:
    """The `metadata` and `spec` of each Application; one with all its `{{...}}` if nothing is known
    of its parameters."""
    template = mapping_at(document, "spec.template")
    made = [
        one
        for _, entry in entries_at(document, "spec.generators")
        for one in _generated(entry, repository)
    ]
    unknown: list[Parameters] = [{}]
    for one in made or unknown:
        yield rewritten(template, lambda value, one=one: _filled(value, one))


def _generated(entry: Mapping[str, Any], repository: Repository) -> Iterator[Parameters]:
    """The parameters of each Application of a generator; nothing known is one empty mapping."""
    several = [one for _, one in entries_at(entry, "matrix.generators")]
    git = mapping_at(entry, "git")
    if "selector" in entry or any(text_at(entry, f"{kind}.template") for kind in ("list", "git")):
        yield {}
    elif several:
        yield from _product(several, repository, {})
    elif is_list(mapping_at(entry, "list").get("elements")):
        for _, element in entries_at(entry, "list.elements"):
            yield dict(_flat(element))
    elif git.get("directories") or git.get("files"):
        extra = {f"values.{key}": value for key, value in mapping(git.get("values")).items()}
        for found in (*_folders(git, repository), *_files(git, repository)):
            yield {**found, **{key: _filled(value, found) for key, value in extra.items()}}
    else:
        yield {}


def _product(
    several: Sequence[Mapping[str, Any]], repository: Repository, known: Parameters
) -> Iterator[Parameters]:
    """Every combination; a later generator may use parameters of an earlier one."""
    if not several:
        yield known
        return
    entry = rewritten(several[0], lambda value: _filled(value, known))
    for one in _generated(entry, repository):
        yield from _product(several[1:], repository, {**known, **one})


def _folders(git: Mapping[str, Any], repository: Repository) -> Iterator[Parameters]:
    rows = [one for _, one in entries_at(git, "directories")]
    wanted = [text_at(one, "path") for one in rows if one.get("exclude") is not True]
    others = [text_at(one, "path") for one in rows if one.get("exclude") is True]
    for folder in sorted(repository.folders):
        chosen = any(_is_match(folder, pattern) for pattern in wanted)
        if chosen and not any(_is_match(folder, pattern) for pattern in others):
            yield dict(_path(folder))


def _files(git: Mapping[str, Any], repository: Repository) -> Iterator[Parameters]:
    patterns = [text_at(one, "path") for _, one in entries_at(git, "files")]
    for file in sorted(repository.files) if patterns else ():
        if any(_is_match(file, pattern) for pattern in patterns):
            data = getattr(repository.read(file), "data", None)
            for one in data if is_list(data) else [data]:
                if is_mapping(one):
                    path = dict(_path(posixpath.dirname(file)))
                    yield {**dict(_flat(one)), **path, "path.filename": posixpath.basename(file)}


def _is_match(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern: `*` is a part of one level, `**/` any levels."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/"))
    return (
        re.fullmatch("".join(signs.get(one) or re.escape(one) for one in parts), path) is not None
    )


def _path(folder: str) -> Iterator[tuple[str, str]]:
    name = posixpath.basename(folder)
    plain = re.sub(r"[^a-z0-9.-]", "-", name.lower()).strip("-.")
    yield from (("path", folder), ("path.path", folder), ("path.basename", name))
    yield "path.basenameNormalized", plain
    for at, part in enumerate(folder.split("/")):
        yield f"path[{at}]", part


def _flat(element: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in element.items():
        below = as_mapping(value)
        if below is not None:
            yield from _flat(below, f"{prefix}{key}.")
        elif isinstance(value, str | int | float):
            yield f"{prefix}{key}", value


def _filled(value: Any, known: Parameters) -> Any:
    """A text with the parameters that are known."""
    if not isinstance(value, str) or "{{" not in value:
        return value

    def text(found: re.Match[str], name: str) -> str:
        one = known.get(name)
        return found[0] if one is None else str(one).lower() if one in (True, False) else str(one)

    value = _INDEX.sub(lambda found: text(found, f"path[{found[1]}]"), value)
    return _NAME.sub(lambda found: text(found, found[1]), value)
