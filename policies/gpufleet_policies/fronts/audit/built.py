"""Readings completed with others: kustomizations, Terraform files, TrainJobs, patches.

The objects that kustomizations produce are in place of their source files. A base is validated as
each overlay produces it, and not alone. A kustomization that only lists files, or has no GPU
objects, is not built: its files hold the same objects. Resources of Terraform are read as far as
they are literal; a TrainJob has the pods of the runtime that it names.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.cluster import DeclaredNamespace
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet_policies.configurations.kinds import WHOLE_KINDS
from gpufleet_policies.fronts.audit.inputs import SUFFIXES
from gpufleet_policies.fronts.audit.reading import Reading, take, take_built
from gpufleet_policies.readers.blocks import LISTS, camel_keys
from gpufleet_policies.readers.raw_objects import RawObject
from gpufleet_policies.readers.reading import holds_unknown
from gpufleet_policies.readers.terraform import facts_of_values, is_read
from gpufleet_policies.readers.train_jobs import TrainerObject, with_runtime
from gpufleet_policies.readers.workload import workload_from
from gpufleet_policies.resolve.build import build
from gpufleet_policies.resolve.environment import with_variables
from gpufleet_policies.resolve.hcl import Block
from gpufleet_policies.resolve.terraform_files import Configuration
from gpufleet_policies.resolve.tree import Tree, UnresolvedError, closure, plain
from gpufleet_policies.resolve.written_lines import Entries, Located, WrittenLines
from gpufleet_policies.wrappers.files import is_kustomization_file
from gpufleet_policies.wrappers.judged import Unjudged

_NODES = re.compile(r"node_?(?:group|pool)(?:_v\d+)?$")
"""Resources of any provider that make nodes."""

_IN_PLAN = "some of its values are only known in a plan: terraform show -json plan.out"


def with_resources(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, with the facts of the resources of Terraform files in those of their files."""
    files = {reading.name: reading.hcl for reading in readings if reading.hcl is not None}
    if not files:
        return readings
    found = Configuration(files)
    result = [one if one.hcl is None else replace(copied(one), hcl=None) for one in readings]
    by_name = {plain(reading.name): reading for reading in result}
    for one in found.resources():
        reading = by_name[one.file]
        lines = WrittenLines(one.block.line, _entries(one.block))
        facts = facts_of_values(one.type, dict(one.values), one.address, reading.name)
        given = take(reading, facts, lambda lines=lines: lines, reading.name)
        unread = not given and not is_read(one.type) and _NODES.search(one.type) is not None
        reading.beside += not given and not unread
        reading.documents += 1
        if unread:
            reason = f"no rule reads {one.type}: its nodes are not known"
            left = Unjudged(reading.name, one.block.line, one.address, "terraform", reason)
            reading.not_judged.append(left)
        if is_read(one.type) and holds_unknown(dict(one.values)):
            left = Unjudged(reading.name, one.block.line, one.address, "terraform", _IN_PLAN)
            reading.not_judged.append(left)
    for problem in dict.fromkeys(found.problems):
        reading = by_name[problem.file]
        reading.not_judged.append(replace(problem, file=reading.name))
    return result


def _entries(block: Block) -> Entries:
    """Lines of a block's attributes and blocks, by their names in findings."""
    found: dict[str, Any] = {name: (line, {}) for name, line in block.lines.items()}
    for below in block.blocks:
        entry = (below.line, _entries(below))
        name = LISTS.get(below.kind, below.kind)
        if name in LISTS.values():
            _, listed = found.setdefault(name, (below.line, {}))
            listed[len(listed)] = entry
        found.setdefault(name, entry)
    return {next(iter(camel_keys({name: 0}))): entry for name, entry in found.items()}


def with_runtimes(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, each TrainJob with the pods of its runtime; a TrainJob without its runtime in
    the files is listed, unless it states the requests of its nodes."""
    found = [one for reading in readings for one in reading.facts if type(one) is TrainerObject]
    if not found:
        return readings
    runtimes = {
        (one.locator.kind, one.locator.namespace, one.locator.name): one
        for one in found
        if one.locator.kind != "TrainJob"
    }
    return [_joined(reading, runtimes) for reading in readings]


def _joined(reading: Reading, runtimes: dict[tuple[str, str, str], TrainerObject]) -> Reading:
    jobs = {
        one.locator: one
        for one in reading.facts
        if type(one) is TrainerObject and one.locator.kind == "TrainJob"
    }
    if not jobs:
        return reading
    facts: list[Any] = []
    left = list(reading.not_judged)
    for fact in reading.facts:
        job = jobs.get(fact.locator) if isinstance(fact, WorkloadFacts) else None
        runtime = None if job is None else runtimes.get(job.runtime)
        if job is not None and runtime is not None:
            made = with_runtime(job.document, runtime.document)
            fact = workload_from(made, fact.locator, fact.api_group) or fact
        elif job is not None and not fact.uses_gpus:
            reason = f"its runtime {job.runtime[2]} is not among the files: its pods are not known"
            line, name = max(fact.locator.line, 1), str(fact.locator)
            left.append(Unjudged(reading.name, line, name, "values", reason))
        facts.append(fact)
    return replace(reading, facts=facts, not_judged=list(dict.fromkeys(left)))


def without_patches(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, with patches validated as far as possible.

    Settings of a configuration count, and missing ones prove nothing; pods are read as parts; and
    objects of other kinds are listed as not validated.
    """
    patches: set[str] = set()
    whole: set[str] = set()
    for reading in readings:
        folder = posixpath.dirname(reading.name)
        for link in reading.links:
            if not link.from_root:
                target = posixpath.normpath(posixpath.join(folder, link.target))
                (patches if link.is_patch else whole).add(target)
    patches -= whole
    if not patches:
        return readings
    return [
        _parted(reading) if posixpath.normpath(reading.name) in patches else reading
        for reading in readings
    ]


def _parted(reading: Reading) -> Reading:
    pairs = list(zip(reading.facts, reading.sources, strict=True))
    kept: list[tuple[Any, Located]] = []
    for fact, source in pairs:
        if isinstance(fact, NvidiaConfig):
            kept.append((replace(fact, complete=False), source))
        elif isinstance(fact, WorkloadFacts):
            kept.append((fact, source))
    # Of a kind that is validated whole, a part proves what its own values prove and little more.
    judged = {fact.locator for fact, _ in kept if getattr(fact, "kind", "") not in WHOLE_KINDS}
    reason = "a patch is validated only with the object that it changes"
    left = [
        Unjudged(reading.name, max(source.line, 1), str(fact.locator), "patch", reason)
        for fact, source in pairs
        if fact.locator not in judged
    ]
    return replace(
        reading,
        facts=[fact for fact, _ in kept],
        sources=[source for _, source in kept],
        not_judged=list(dict.fromkeys((*reading.not_judged, *left))),
    )


_OF_FILES = frozenset({"file", "template", "repeated", "terraform"})
"""Reasons that stay with a file, also when a kustomization uses it."""


def with_built(readings: Sequence[Reading], tree: Tree) -> Sequence[Reading]:
    """The readings, with the objects of each kustomization that nothing else builds on."""
    if not any(reading.changes or _inflates(reading) for reading in readings):
        return readings
    graph = _Graph(readings)
    found = [root for root in graph.roots() if graph.is_built(root)]
    if not found:
        return readings
    result = [copied(reading) for reading in readings]
    claimed: set[str] = set()
    for root in found:
        claimed |= _build(root, tree, result[graph.at[root]])
    made = {id(result[graph.at[root]]) for root in found}
    for reading in result:
        if plain(reading.name) in claimed and id(reading) not in made:
            emptied(reading)
    return result


def copied(reading: Reading) -> Reading:
    """A reading whose lists can be changed."""
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
    reading.unopened = [one for one in reading.unopened if one[0].release.held is None]
    reading.not_judged += dict.fromkeys(built.problems)
    for one in built.objects:
        if one.problem:
            name = f"{one.kind} {one.name}"
            found = Unjudged(one.layers.file, one.layers.line, name, "patch", one.problem)
            reading.not_judged.append(found)
        else:
            take_built(reading, one)
    return built.files


def emptied(reading: Reading, kept: Collection[str] = _OF_FILES) -> None:
    """Remove the facts of a source file; reasons that are `kept` still concern it."""
    reading.facts.clear()
    reading.sources.clear()
    reading.unopened.clear()
    reading.holders.clear()
    reading.not_judged = [one for one in reading.not_judged if one.what in kept]


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
        if not (outside or any(reading.changes or _inflates(reading) for reading in own)):
            return False
        concerned = any(reading.mentions_gpus for reading in own) or outside
        return concerned or any(_concerns(fact) for name in files for fact in self._facts(name))

    def _facts(self, name: str) -> list[Any]:
        reading = self._named.get(name)
        return [] if reading is None else [*reading.facts, *(one for one, _ in reading.unopened)]

    def _closure(self, root: str) -> tuple[set[str], set[str], bool]:
        """Folders and files of a kustomization, and whether more objects are outside of the run."""
        reached = closure(root, self._targets)
        folders = reached & self.at.keys()
        files = (reached & self._named.keys()) - folders
        return folders, files, any(map(_is_more, reached - folders - files))


def _inflates(reading: Reading) -> bool:
    """Whether a kustomization makes objects of a chart of the tree."""
    return any(one.release.held is not None for one, _ in reading.unopened)


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
