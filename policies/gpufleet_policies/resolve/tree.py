"""Files that kustomizations name, read once, and only inside of what is audited."""

import os
import posixpath
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from gpufleet.documents.document import Document
from gpufleet.documents.limits import MANIFESTS, UnreadableDocumentError
from gpufleet_policies.readers.document_text import read_documents
from gpufleet_policies.wrappers.files import KUSTOMIZATIONS

Place = TypeVar("Place", bound=Hashable)


class UnresolvedError(ValueError):
    """A part of a build that cannot be resolved; the text gives the reason."""


class Tree:
    """Files below some folders, or below the repositories that these are in."""

    def __init__(self, roots: Iterable[str], instead: Mapping[str, bytes] | None = None) -> None:
        """`instead`: contents that are read in place of files, by name."""
        self._instead = {plain(name): text for name, text in (instead or {}).items()}
        self._named = roots
        self._read: dict[str, list[Document]] = {}
        self.seconds = 0.0
        """Time that programs took for it."""

    @cached_property
    def _roots(self) -> set[str]:
        folders = {os.path.dirname(root) for root in self._named}  # noqa: PTH120  thousands of texts
        roots = {os.path.realpath(_repository(root)) for root in folders}
        return {root for root in roots if not any(root.startswith(_inside(one)) for one in roots)}

    def kustomization(self, folder: str) -> str | None:
        """The name of the kustomization of a folder; None where it has none."""
        for name in sorted(KUSTOMIZATIONS):
            path = plain(posixpath.join(folder, name))
            if Path(path).is_file() and self.is_inside(path):
                return path
        return None

    def is_folder(self, path: str) -> bool:
        """Whether a path is a folder that may be read."""
        return Path(path).is_dir() and self.is_inside(path)

    def documents(self, name: str) -> list[Document]:
        """The documents of a file. Raises UnresolvedError."""
        if name not in self._read:
            try:
                self._read[name] = read_documents(self.content(name))
            except UnreadableDocumentError as problem:
                raise UnresolvedError(f"{name}: {problem}") from None
        return self._read[name]

    def content(self, name: str) -> bytes:
        """The bytes of a file. Raises UnresolvedError."""
        if name in self._instead:
            return self._instead[name]
        if not self.is_inside(name):
            raise UnresolvedError(f"{name} is outside of the audited files")
        try:
            with Path(name).open("rb") as file:
                text = file.read(MANIFESTS.size + 1)
        except OSError as problem:
            raise UnresolvedError(f"{name}: {problem.strerror}") from None
        if len(text) > MANIFESTS.size:
            raise UnresolvedError(f"{name} is larger than {MANIFESTS.size >> 20} MiB")
        return text

    def is_inside(self, path: str) -> bool:
        """Whether a path may be read: no link leads out of the audited files."""
        real = os.path.realpath(path)
        return any(real == root or real.startswith(_inside(root)) for root in self._roots)


def _inside(root: str) -> str:
    return root.rstrip(os.sep) + os.sep


def _repository(root: str) -> Path:
    """The folder with `.git` above a folder or file; without one, itself."""
    here = Path(os.path.realpath(root))
    if not here.is_dir():
        here = here.parent
    return next((one for one in (here, *here.parents) if (one / ".git").exists()), here)


def plain(path: str) -> str:
    """A path as readings are named."""
    return posixpath.normpath(path.replace("\\", "/"))


def start_of(folder: str) -> str:
    """The beginning of the names of all files below a folder."""
    return "" if folder == "." else f"{folder.rstrip('/')}/"


def closure(root: Place, edges: Mapping[Place, Iterable[Place]]) -> set[Place]:
    """Everything that edges lead to from a place, and the place."""
    found, waiting = {root}, [root]
    while waiting:
        for target in edges.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def is_remote(path: str) -> bool:
    """Whether a resource is on another machine (kustomize api/internal/git/repospec.go)."""
    bare = path.partition("?")[0]
    return (
        "://" in path
        or "?ref=" in path
        or path.startswith(("git@", "git::", "github.com", "gitlab.com"))
        or "//" in bare
    )
