"""Charts of the tree, and the objects that they make where helm is installed."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.cli.at_work import at_work
from gpufleet.cluster.release_values import ValuesSource, WrappedRelease, steps_of
from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import mapping
from gpufleet.findings.locator import Locator
from gpufleet.messages import message
from gpufleet_policies.fronts.audit.built import emptied
from gpufleet_policies.fronts.audit.reading import OF_GPUS, Reading, take_built
from gpufleet_policies.resolve.charts import (
    SECONDS_OF_RUN,
    dependencies,
    installed_parts,
    parts_of,
    rendered,
    texts_of,
)
from gpufleet_policies.resolve.environment import with_variables
from gpufleet_policies.resolve.tree import Tree, UnresolvedError, start_of
from gpufleet_policies.resolve.written_lines import Located
from gpufleet_policies.wrappers.charts import is_values_file, known_chart
from gpufleet_policies.wrappers.judged import Unjudged

_OF_GITOPS = (b"argoproj.io/", b"helm.toolkit.fluxcd.io/", b"kustomize.toolkit.fluxcd.io/")
"""API groups of objects that install charts or folders."""


def charts_of(readings: Sequence[Reading]) -> dict[str, tuple[Reading, Located, str]]:
    """Folder of each chart -> the reading of its `Chart.yaml`, the document, and its name."""
    return {
        holder.name: (reading, document, holder.chart or "")
        for reading in readings
        for holder, document in reading.holders
        if holder.kind == "folder"
    }


class ChartFolders:
    """The charts of a run."""

    def __init__(
        self,
        files: Mapping[str, Reading],
        charts: Mapping[str, tuple[Reading, Located, str]],
        tree: Tree,
    ) -> None:
        self.charts = {
            folder: (files[posixpath.normpath(reading.name)], document, name)
            for folder, (reading, document, name) in charts.items()
        }
        self._files = files
        self._tree = tree
        self._used: set[str] = set()
        """Charts that a release of the run names."""
        self._left: dict[str, str] = {}
        """Charts that a release may name by a path with variables, with the reason."""
        self._made: set[str] = set()
        """Templates that made an object."""
        self.rendered: set[str] = set()
        """Charts with objects."""
        self.refused: dict[str, list[tuple[WrappedRelease, Locator, Reading, Located]]] = {}
        """Charts whose objects are not known -> their releases, and where these are."""

    def use(self, folder: str, release: WrappedRelease) -> bool:
        """Note that a release names a chart; gives whether it may concern GPUs."""
        self._used.add(folder)
        values = str([one.written for one in release.sources]).lower().encode()
        words = (*OF_GPUS, *_OF_GITOPS)
        return any(word in values for word in words) or self._mentions(folder, words)

    def leave(self, written: str, by: str) -> None:
        """Note that a release names charts by a path with variables: their values are not known."""
        path = re.sub(r"\$?\{+[^{}]*\}+", "\0", posixpath.normpath(written)).strip("./")
        pattern = re.compile("(.*/)?" + re.escape(path).replace("\0", ".*"))
        found = [folder for folder in self.charts if pattern.fullmatch(folder)]
        self._left.update(dict.fromkeys(found, f"{by} may install it, with values not known"))

    def is_left(self, folder: str) -> bool:
        """List a chart that a release may name; gives whether there is such a release."""
        reason = self._left.get(folder)
        if reason is not None:
            reading = self.charts[folder][0]
            reading.not_judged.append(Unjudged(reading.name, 1, folder, "render", reason))
            self._used.add(folder)
        return reason is not None

    def unused(self, *, makes_releases: bool) -> Iterator[str]:
        """Charts that no release names and that install others, or concern GPUs."""
        words = _OF_GITOPS if makes_releases else OF_GPUS
        parts = {part for one in self.charts for part in parts_of(one, self._tree).values()}
        for folder, (_, _, name) in self.charts.items():
            is_done = folder in parts or folder in self._used or folder in self.rendered
            if not is_done and known_chart(name) is None and self._mentions(folder, words):
                yield folder

    def render(
        self, folder: str, release: WrappedRelease, reading: Reading, document: Located
    ) -> bool:
        """Put the objects of a chart into the reading of what installs it; gives whether they are
        known."""
        at_work(f"helm: {folder}, {self._tree.seconds:.0f} s of {SECONDS_OF_RUN} s")
        try:
            objects = rendered(folder, release, self._tree)
        except UnresolvedError as problem:
            line, reason = document.located(steps_of(release.place))[1], message(str(problem))
            if "not installable" not in reason:  # a library, which other charts use
                reading.not_judged.append(Unjudged(reading.name, line, folder, "render", reason))
            return False
        self.rendered.add(folder)
        with_variables(objects)
        first = len(reading.facts)
        for one in objects:
            one.layers.data = one.data
            self._made.add(one.layers.file)
            take_built(reading, one)
        if release.cluster:
            reading.facts[first:] = [
                replace(fact, locator=replace(fact.locator, cluster=release.cluster))
                for fact in reading.facts[first:]
            ]
        return True

    def parts(self, folder: str, values: Mapping[str, Any]) -> Iterator[WrappedRelease]:
        """The known charts that a chart brings along with these values, each as its release."""
        for key, name, version in installed_parts(folder, values, self._tree):
            if known_chart(name) is not None:
                own = {k: v for k, v in mapping(values.get(key)).items() if k != "enabled"}
                sources = (ValuesSource(key, own),)
                yield WrappedRelease(name, version or None, "dependencies", sources)

    def unrendered(self) -> Iterator[str]:
        """Charts whose objects are not known and that bring known charts along."""
        for folder in self.charts.keys() - self.rendered:
            rows = dependencies(folder, self._tree)
            if any(known_chart(text_at(row, "name")) is not None for row in rows):
                yield folder

    def empty_templates(self, folder: str) -> None:
        """Remove the facts of the templates of a chart whose objects are known: all of a release;
        of a chart that no release names, those that are not off by default."""
        for name, inside in self._parts(folder):
            known = name in self._made or folder in self._used
            if known and re.match(r"(charts/[^/]+/)*templates/", inside):
                self._empty(name)
        for name in self._made & self._files.keys():  # of charts in other folders
            self._empty(name)

    def _empty(self, name: str) -> None:
        reading = self._files[name]
        emptied(reading, kept=())
        reading.problem, reading.templates = "", 0

    def values_files(self, folder: str) -> Iterator[str]:
        """Files of values beside a chart, its own among them."""
        places = {folder, posixpath.normpath(f"{folder}/values")}
        for name in self._files:
            if (posixpath.dirname(name) or ".") in places and is_values_file(name):
                yield name

    def _parts(self, folder: str) -> Iterator[tuple[str, str]]:
        """Files of a chart, with their paths inside of it."""
        start = start_of(folder)
        return ((n, n.removeprefix(start)) for n in self._files if n.startswith(start))

    def _mentions(self, folder: str, words: Sequence[bytes]) -> bool:
        """Whether a template or a file of values has one of these words, or cannot be read."""
        try:
            texts = (text.lower() for text in texts_of(folder, self._tree))
            return any(word in text for text in texts for word in words)
        except UnresolvedError:
            return True
