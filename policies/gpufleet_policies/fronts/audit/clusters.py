"""The files of a run that belong to one cluster.

Objects are compared only within a cluster. A cluster is, in this order: the files of a pattern in
the settings; the files that a kustomization, a Flux Kustomization or an Argo CD Application
combines, or that `gpufleet render` wrote; else one folder. Files that several clusters share belong
to each. Files that the caller named belong to all clusters.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.readers.rendered import rendered_root
from gpufleet_policies.resolve.tree import closure, plain, start_of
from gpufleet_policies.wrappers.files import KUSTOMIZATIONS
from gpufleet_policies.wrappers.links import GitOpsLink

Node = tuple[str, str]
"""Origin of the group (`kustomization`, `folder`, `cluster`, `rule`), and its name."""


@dataclass(frozen=True, slots=True)
class FilesOfCluster:
    """One cluster of a run."""

    name: str
    members: frozenset[int]
    """Positions of its readings."""
    is_certain: bool
    """Whether settings or a GitOps tool define the cluster: no other file belongs to it."""


def clusters_of(readings: Sequence[Reading], rules: Sequence[str]) -> list[FilesOfCluster]:
    """Every cluster; each reading that was found below a folder is in at least one."""
    if all(reading.named for reading in readings):
        return [FilesOfCluster("", frozenset(range(len(readings))), True)]
    return _Graph(readings, rules).clusters()


class _Graph:
    def __init__(self, readings: Sequence[Reading], rules: Sequence[str]) -> None:
        self._names = [plain(reading.name) for reading in readings]
        self._at = {name: index for index, name in enumerate(self._names)}
        self._members: dict[Node, set[int]] = {}
        self._edges: dict[Node, set[Node]] = {}
        self._certain: set[Node] = set()
        self._kustomizations = {
            _folder_of(name): index
            for index, name in enumerate(self._names)
            if posixpath.basename(name) in KUSTOMIZATIONS
        }
        self._folders = {above for name in self._names for above in folders_above(name)}
        claimed: set[int] = set(self._kustomizations.values())
        for folder, index in self._kustomizations.items():
            claimed |= self._read_kustomization(folder, index, readings[index].links)
        for index, name in enumerate(self._names):
            if index not in claimed and not readings[index].named:
                node = ("folder", _folder_of(name))
                self._members.setdefault(node, set()).add(index)
        holders: dict[int, list[Node]] = {}
        for node, members in self._members.items():
            for index in members:
                holders.setdefault(index, []).append(node)
        for index, reading in enumerate(readings):
            for link in reading.links:
                if link.from_root:
                    self._follow(link, index, holders.get(index, []))
                elif index not in claimed:
                    self._read_by_terraform(link, index)
        certain = {("rule", found) for name in self._names if (found := _by_rule(name, rules))}
        roots = (rendered_root(one.name, one.facts) for one in readings)
        certain |= {("rendered", plain(root)) for root in roots if root}
        for node in certain:
            self._edges[node] = set(self._below(node[1]))
            self._members[node] = set()
        self._certain |= certain

    def _read_kustomization(self, folder: str, index: int, links: Iterable[GitOpsLink]) -> set[int]:
        node = ("kustomization", folder)
        members = self._members[node] = {index}
        for link in links:
            target = plain(posixpath.join(folder, link.target))
            if target in self._at:
                members.add(self._at[target])
            elif target in self._kustomizations and target != folder:
                self._edges.setdefault(node, set()).add(("kustomization", target))
        return members

    def _read_by_terraform(self, link: GitOpsLink, index: int) -> None:
        """Bring the folder of manifests that a file of Terraform reads to its own folder."""
        own = ("folder", _folder_of(self._names[index]))
        target = plain(posixpath.join(own[1], link.target))
        read = {("folder", target), ("folder", _folder_of(target))} - {own}
        self._edges.setdefault(own, set()).update(read & self._members.keys())

    def _follow(self, link: GitOpsLink, index: int, holders: Sequence[Node]) -> None:
        target = self._folder(link.target, self._names[index])
        if target is None:
            return
        if target in self._kustomizations:
            found: set[Node] = {("kustomization", target)}
        elif link.recursive:
            found = set(self._below(target))
        else:
            found = {("folder", target)}
        sources = [("cluster", link.cluster)] if link.cluster else holders
        for source in sources:
            self._members.setdefault(source, set())
            self._edges.setdefault(source, set()).update(found - {source})
            self._certain.add(source)

    def _folder(self, written: str, name: str) -> str | None:
        """The folder of a path from the root of a repository, whose place is not known."""
        bare = plain(written.lstrip("/") or ".")
        for above in folders_above(name):
            found = plain(posixpath.join(above, bare))
            if found in self._folders and (bare != "." or found == min(self._folders, key=len)):
                return found
        return None

    def _below(self, folder: str) -> Iterator[Node]:
        for node in self._members:
            kind, name = node
            inside = name == folder or name.startswith(start_of(folder))
            if kind in ("kustomization", "folder") and inside:
                yield node

    def clusters(self) -> list[FilesOfCluster]:
        """Closures of the nodes that nothing else brings along."""
        targets = {target for targets in self._edges.values() for target in targets}
        order = sorted(self._members)
        roots = [node for node in order if node not in targets]
        seen: set[Node] = set()
        found: list[FilesOfCluster] = []
        # Nodes that only refer to each other have no root: the first one represents all.
        for node in (*roots, *order):
            if node in seen:
                continue
            reached = closure(node, self._edges)
            seen |= reached
            members = frozenset(i for one in reached for i in self._members.get(one, ()))
            if members:
                certain = not self._certain.isdisjoint(reached)
                found.append(FilesOfCluster(node[1], members, certain))
        return found


def _by_rule(name: str, rules: Sequence[str]) -> str | None:
    """The outermost folder of a file that a pattern names, from the root or from any folder."""
    for folder in reversed(list(folders_above(name))):
        parts = folder.split("/")
        for rule in rules:
            wanted = rule.strip("/").split("/")
            tail = parts[-len(wanted) :]
            if len(tail) == len(wanted) and all(map(fnmatchcase, tail, wanted)):
                return folder
    return None


def folders_above(name: str) -> Iterator[str]:
    """Folders of a file, innermost first."""
    while True:
        name = _folder_of(name)
        yield name
        if name in ("/", "."):
            return


def _folder_of(name: str) -> str:
    return posixpath.dirname(name) or "."
