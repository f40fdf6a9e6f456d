"""Readings of kustomizations: the objects that they produce, in place of their source files.

A base is validated as each overlay produces it, and not alone. A kustomization that only lists
files, or has no GPU objects, is not built: its files hold the same objects.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.cluster import DeclaredNamespace
from gpufleet_policies.fronts.audit.inputs import SUFFIXES
from gpufleet_policies.fronts.audit.reading import Reading, take_built
from gpufleet_policies.fronts.audit.unjudged import Unjudged
from gpufleet_policies.readers.raw_objects import RawObject
from gpufleet_policies.resolve.build import Problem, build
from gpufleet_policies.resolve.environment import with_variables
from gpufleet_policies.resolve.tree import Tree, UnresolvedError, plain
from gpufleet_policies.wrappers.files import is_kustomization_file

_OF_FILES = frozenset({"file", "template", "repeated", "terraform"})
"""Reasons that stay with a file, also when a kustomization uses it."""


def with_built(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, with the objects of each kustomization that nothing else builds on."""
    if not any(reading.changes for reading in readings):
        return readings
    graph = _Graph(readings)
    found = [root for root in graph.roots() if graph.is_built(root)]
    if not found:
        return readings
    tree = Tree(
        [reading.name for reading in readings],
        {r.name: r.content for r in readings if r.content is not None},
    )
    result = [_copied(reading) for reading in readings]
    claimed: set[str] = set()
    for root in found:
        claimed |= _build(root, tree, result[graph.at[root]])
    made = {id(result[graph.at[root]]) for root in found}
    for reading in result:
        if plain(reading.name) in claimed and id(reading) not in made:
            _empty(reading)
    return result


def _copied(reading: Reading) -> Reading:
    return replace(
        reading,
        facts=list(reading.facts),
        sources=list(reading.sources),
        not_judged=list(reading.not_judged),
        unopened=list(reading.unopened),
        holders=list(reading.holders),
        links=list(reading.links),
        changes=False,
    )


def _build(folder: str, tree: Tree, reading: Reading) -> set[str]:
    """Build a kustomization into its reading; returns its source files."""
    try:
        built = build(folder, tree)
    except UnresolvedError as problem:
        reading.not_judged.append(Unjudged(reading.name, 1, "", "overlay", str(problem)))
        return set()
    with_variables(built.objects)
    # Its own releases stay; its patches are carried out.
    reading.not_judged = [one for one in reading.not_judged if one.what != "patch"]
    reading.not_judged += [_unjudged(one) for one in dict.fromkeys(built.problems)]
    for one in built.objects:
        if one.problem:
            name = f"{one.kind} {one.name}"
            found = Unjudged(one.layers.file, one.layers.line, name, "patch", one.problem)
            reading.not_judged.append(found)
        else:
            take_built(reading, one)
    return built.files


def _unjudged(problem: Problem) -> Unjudged:
    return Unjudged(problem.file, problem.line, problem.place, "overlay", problem.reason)


def _empty(reading: Reading) -> None:
    """Remove the facts of a file that only its patches complete."""
    reading.facts.clear()
    reading.sources.clear()
    reading.unopened.clear()
    reading.holders.clear()
    reading.not_judged = [one for one in reading.not_judged if one.what in _OF_FILES]


class _Graph:
    """Which kustomizations build on which others."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self.readings = readings
        self.at = {
            posixpath.dirname(plain(reading.name)) or ".": index
            for index, reading in enumerate(self.readings)
            if is_kustomization_file(reading.name) and not reading.problem
        }
        self._named = {plain(reading.name): reading for reading in self.readings}
        self._targets = {folder: set(self._links(folder)) for folder in self.at}

    def _links(self, folder: str) -> Iterator[str]:
        for link in self.readings[self.at[folder]].links:
            if not link.from_root:
                yield plain(posixpath.join(folder, link.target))

    def roots(self) -> list[str]:
        """Folders of kustomizations that no other one names."""
        reached = {target for folder, links in self._targets.items() for target in links - {folder}}
        return [folder for folder in self.at if folder not in reached]

    def is_built(self, root: str) -> bool:
        """Whether anything is changed on the way, and anything of it may concern GPUs."""
        folders, files, outside = self._closure(root)
        own = [self.readings[self.at[folder]] for folder in folders]
        if not (outside or any(reading.changes for reading in own)):
            return False
        concerned = any(reading.mentions_gpus for reading in own) or outside
        return concerned or any(_concerns(fact) for name in files for fact in self._facts(name))

    def _facts(self, name: str) -> list[Any]:
        reading = self._named.get(name)
        return [] if reading is None else [*reading.facts, *(one for one, _ in reading.unopened)]

    def _closure(self, root: str) -> tuple[set[str], set[str], bool]:
        folders, files, outside = {root}, set[str](), False
        waiting = [root]
        while waiting:
            for target in self._targets[waiting.pop()]:
                if target in self.at:
                    if target not in folders:
                        folders.add(target)
                        waiting.append(target)
                elif target in self._named:
                    files.add(target)
                else:
                    outside = outside or _is_more(target)
        return folders, files, outside


def _is_more(target: str) -> bool:
    """Whether a path that is not among the inputs leads to more objects: a folder, or a file of
    YAML. Files of other kinds are what generators put into ConfigMaps."""
    path = Path(target)
    return path.is_dir() or (path.suffix.lower() in SUFFIXES and path.is_file())


def _concerns(fact: Any) -> bool:
    """Whether a fact may concern GPUs, or is a configuration that is validated whole."""
    if isinstance(fact, WorkloadFacts):
        return fact.uses_gpus or fact.uses_claims
    return not isinstance(fact, DeclaredNamespace | RawObject)
