"""Charts of the tree, and the objects that they make where helm is installed."""

import contextlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpufleet.cluster.release_values import WrappedRelease, steps_of
from gpufleet.messages import message
from gpufleet_policies.fronts.audit.built import emptied
from gpufleet_policies.fronts.audit.reading import OF_GPUS, Reading, take_built
from gpufleet_policies.fronts.audit.unjudged import Unjudged
from gpufleet_policies.resolve.charts import rendered
from gpufleet_policies.resolve.environment import with_variables
from gpufleet_policies.resolve.tree import Tree, UnresolvedError
from gpufleet_policies.resolve.written_lines import Located
from gpufleet_policies.wrappers.charts import is_values_file, known_chart

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
        self, files: Mapping[str, Reading], charts: Mapping[str, tuple[Reading, Located, str]]
    ) -> None:
        self.charts = {
            folder: (files[posixpath.normpath(reading.name)], document, name)
            for folder, (reading, document, name) in charts.items()
        }
        self._files = files
        self._tree = Tree(files)
        self._used: set[str] = set()
        """Charts that a release of the run names."""
        self._made: set[str] = set()
        """Templates that made an object."""
        self.rendered: set[str] = set()
        """Charts with objects."""

    def use(self, folder: str, release: WrappedRelease) -> bool:
        """Note that a release names a chart; gives whether it may concern GPUs."""
        self._used.add(folder)
        values = str([one.written for one in release.sources]).lower().encode()
        words = (*OF_GPUS, *_OF_GITOPS)
        return any(word in values for word in words) or self._mentions(folder, words)

    def unused(self, *, makes_releases: bool) -> Iterator[str]:
        """Charts that no release names and that install others, or concern GPUs."""
        words = _OF_GITOPS if makes_releases else OF_GPUS
        for folder, (_, _, name) in self.charts.items():
            above = posixpath.dirname(folder)
            is_part = posixpath.basename(above) == "charts" and (
                (posixpath.dirname(above) or ".") in self.charts
            )
            is_done = is_part or folder in self._used or folder in self.rendered
            if not is_done and known_chart(name) is None and self._mentions(folder, words):
                yield folder

    def render(
        self, folder: str, release: WrappedRelease, reading: Reading, document: Located
    ) -> None:
        """Put the objects of a chart into the reading of what installs it."""
        try:
            objects = rendered(folder, release, self._tree)
        except UnresolvedError as problem:
            line, reason = document.located(steps_of(release.place))[1], message(str(problem))
            if "not installable" not in reason:  # a library, which other charts use
                reading.not_judged.append(Unjudged(reading.name, line, folder, "render", reason))
            return
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

    def empty_templates(self, folder: str) -> None:
        """Remove the facts of the templates of a chart whose objects are known: all of a release;
        of a chart that no release names, those that are not off by default."""
        for name, inside in self._parts(folder):
            known = name in self._made or folder in self._used
            if known and re.match(r"(charts/[^/]+/)*templates/", inside):
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
        start = "" if folder == "." else f"{folder}/"
        return ((n, n.removeprefix(start)) for n in self._files if n.startswith(start))

    def _mentions(self, folder: str, words: Iterable[bytes]) -> bool:
        """Whether a template or a file of values has one of these words."""
        if any(Path(folder, "charts").glob("*.tgz")):
            return True
        for name, inside in self._parts(folder):
            if inside.startswith(("templates/", "charts/")) or "values" in inside:
                with contextlib.suppress(UnresolvedError):
                    text = self._tree.content(name).lower()
                    if any(word in text for word in words):
                        return True
        return False
