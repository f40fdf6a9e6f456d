"""Releases of charts whose values, or whose chart's name, are in other documents of the run."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.release_values import HeldElsewhere, ValuesSource, WrappedRelease, joined
from gpufleet.documents.document import Document
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.fronts.audit.built import copied
from gpufleet_policies.fronts.audit.chart_folders import ChartFolders, charts_of
from gpufleet_policies.fronts.audit.clusters import folders_above
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.reading import Reading, documents_of
from gpufleet_policies.fronts.audit.unjudged import left_out
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.document_text import yaml_value
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.reading import is_filled_in
from gpufleet_policies.readers.releases import opened
from gpufleet_policies.resolve.charts import helm
from gpufleet_policies.resolve.environment import filled
from gpufleet_policies.resolve.tree import Tree, plain, start_of
from gpufleet_policies.resolve.written_lines import Located
from gpufleet_policies.wrappers.application_sets import Repository
from gpufleet_policies.wrappers.charts import chart_name, known_chart
from gpufleet_policies.wrappers.gitops import argo_set
from gpufleet_policies.wrappers.holders import Holder
from gpufleet_policies.wrappers.judged import NotJudged, UnopenedRelease
from gpufleet_policies.wrappers.release import found_elsewhere, merged, values_of


@dataclass(frozen=True, slots=True)
class _Given:
    """A holder, and where it is."""

    holder: Holder
    reading: Reading
    document: Located


@dataclass(frozen=True, slots=True)
class _Values:
    """Values that a reference leads to."""

    data: Any
    reading: Reading
    document: Located
    place: str
    """Field of their document; empty: the document itself."""
    used: tuple[str, str]
    """File, and key of a ConfigMap in it."""


def with_open_releases(readings: Sequence[Reading], tree: Tree) -> Sequence[Reading]:
    """The readings, with the facts of every unopened release in the document of its values.

    Values that a release uses are validated as part of it, with its version, and not a second time.
    """
    charts = charts_of(readings)
    if not (charts or any(reading.unopened for reading in readings)):
        return readings
    opened_readings = [copied(reading) for reading in readings]
    search = _Search(opened_readings)
    folders = ChartFolders(search.by_name, charts, tree)
    _open_all(search, folders, opened_readings)
    if helm() is not None:
        # Charts that install others first: their releases give values to these.
        for makes_releases in (True, False):
            for folder in folders.unused(makes_releases=makes_releases):
                _render_alone(search, folders, folder)
            _open_all(search, folders, opened_readings)
    for folder in folders.unrendered():
        _open_parts(search, folders, folder)
    for folder in folders.rendered:
        folders.empty_templates(folder)
        search.used.update((name, "") for name in folders.values_files(folder))
    for name in {file for file, key in search.used if not key}:
        _forget(search.by_name[name])
    return opened_readings


def with_environments(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, their containers with the variables that ConfigMaps of the run give them."""
    if not any(reading.taking for reading in readings):
        return readings
    search = _Search(readings)
    return [_with_environments(one, search) if one.taking else one for one in readings]


def _with_environments(reading: Reading, search: "_Search") -> Reading:
    made: dict[Any, Any] = {}
    for data, document in reading.taking:
        maps = search.maps(inside(data, "metadata.namespace"), posixpath.dirname(reading.name))
        given = filled(data, maps)
        if given is not data:
            found = facts_of_document(given, reading.name, line=document.line)
            made |= {one.locator: one for one in found if isinstance(one, WorkloadFacts)}
    facts = [
        made.get(one.locator, one) if isinstance(one, WorkloadFacts) else one
        for one in reading.facts
    ]
    return replace(reading, facts=facts)


_ROUNDS = 5
"""Deepest chain of charts that install charts."""


def _open_all(search: "_Search", folders: ChartFolders, readings: Sequence[Reading]) -> None:
    """Open the releases of readings, and those of the charts that they render."""
    for _ in range(_ROUNDS):
        waiting = [(reading, one) for reading in readings for one in reading.unopened]
        for reading in readings:
            reading.unopened = []
        for reading, (unopened, document) in waiting:
            for one in search.of_set(unopened, reading):
                _open(search, folders, one, reading, document)


def _render_alone(search: "_Search", folders: ChartFolders, folder: str) -> None:
    """Render a chart that no release of the run names: as it is, and with each file of values
    beside it, in the reading of that file. One that a release may name is listed instead."""
    if folders.is_left(folder):
        return
    alone = WrappedRelease(None, None, "", name=posixpath.basename(folder))
    folders.render(folder, alone, *folders.charts[folder][:2])
    for name in folders.values_files(folder):
        own = posixpath.splitext(posixpath.basename(name))[0] == "values"
        if not own and (values := search.values_file(name)) is not None:
            release = replace(alone, sources=(ValuesSource("", values.data),))
            folders.render(folder, release, values.reading, values.document)


def _open_parts(search: "_Search", folders: ChartFolders, folder: str) -> None:
    """Facts of the known charts that a chart without known objects brings along, with the values of
    each of its releases; without a release, with each of its files of values."""
    own = search.values_file(plain(f"{folder}/values.yaml"))
    given = list(folders.refused.get(folder, ()))
    for name in folders.values_files(folder):
        _forget(search.by_name[name])
        if folder not in folders.refused and (values := search.values_file(name)) is not None:
            where = Locator("Values", "", "", "", name, 1)
            release = WrappedRelease(None, None, "", (ValuesSource("", values.data),))
            given.append((release, where, values.reading, values.document))
    if not given:
        reading, document, _ = folders.charts[folder]
        where = Locator("Values", "", "", "", reading.name, 1)
        given = [(WrappedRelease(None, None, ""), where, reading, document)]
    for release, locator, reading, document in given:
        base = {} if own is None else mapping(own.data)
        held = tuple(one for one in release.sources if one.held is not None)
        values = merged(base, values_of(release.sources, yaml_value).values)
        for part in folders.parts(folder, values):
            made, where = part, replace(locator, name=locator.name or part.chart or "")
            if release.place:
                sources = (replace(part.sources[0], place=release.place), *held)
                made = replace(release, chart=part.chart, version=part.version, sources=sources)
            for fact in opened(made, where, {}):
                _put(fact, reading, reading, document, document)


def _put(fact: Any, reading: Reading, target: Reading, document: Located, source: Located) -> None:
    """Put a fact of a release where its values are, and what is not validated where its name is."""
    if isinstance(fact, NotJudged):
        reading.not_judged.append(left_out(fact, document, reading.name))
    else:
        target.facts.append(fact)
        target.sources.append(source)


def _open(
    search: "_Search",
    folders: ChartFolders,
    unopened: UnopenedRelease,
    reading: Reading,
    document: Located,
) -> None:
    folder = posixpath.dirname(reading.name)
    unopened = replace(unopened, release=search.with_files(unopened.release, folder))
    choices = search.choices(unopened.release, folder)
    for values in choices or [{}]:
        release = found_elsewhere(
            unopened.release,
            lambda held, values=values: values[held].data if held in values else None,
            lambda held: search.chart(held, folder),
        )
        search.used.update(found.used for found in values.values())
        held = unopened.release.held
        local = search.folder(held, folder) if held else ""
        if held is not None and not local and is_filled_in(held.name):
            folders.leave(held.name, str(unopened.locator))
        if local and known_chart(release.chart or "") is None:
            if folders.use(local, release):
                if not folders.render(local, release, reading, document):
                    given = (release, unopened.locator, reading, document)
                    folders.refused.setdefault(local, []).append(given)
                continue
        elif held is not None and held.optional and not local:
            continue  # a folder of manifests
        elif local and (own := search.values_file(plain(f"{local}/values.yaml"))) is not None:
            base = ValuesSource(f"{local}/values.yaml", own.data)
            search.used.add(own.used)
            release = replace(release, sources=(base, *release.sources))
        elif held is not None and not local and held.name.startswith((".", "/")):
            unread = ValuesSource(release.place, held=held)
            release = replace(release, sources=(unread, *release.sources))
        last = _last(unopened.release.sources)
        home = values.get(last) if last is not None else None
        target, source, place = reading, document, None
        if home is not None:
            target, source, place = home.reading, home.document, home.place
        locator = replace(unopened.locator, file=target.name, line=source.line)
        for fact in opened(release, locator, unopened.annotations, place):
            _put(fact, reading, target, document, source)


def _last(sources: Sequence[ValuesSource]) -> HeldElsewhere | None:
    """Source of the values with precedence; None where that is the release itself."""
    whole = [source for source in sources if not source.target]
    return whole[-1].held if whole else None


def _forget(reading: Reading) -> None:
    """Leave out what the values of a file gave without their release."""
    kept = [
        (fact, source)
        for fact, source in zip(reading.facts, reading.sources, strict=True)
        if fact.locator.kind != "Values"
    ]
    reading.facts = [fact for fact, _ in kept]
    reading.sources = [source for _, source in kept]
    reading.not_judged = [one for one in reading.not_judged if one.what != "chart"]


class _Search:
    """Finds what releases refer to, among all documents of the run."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self.by_name = {plain(reading.name): reading for reading in readings}
        self.used: set[tuple[str, str]] = set()
        self._given: dict[tuple[str, str], list[_Given]] = {}
        self._read: dict[str, Document | None] = {}
        for reading in readings:
            for holder, document in reading.holders:
                found = self._given.setdefault((holder.kind, holder.name), [])
                found.append(_Given(holder, reading, document))

    def chart(self, held: HeldElsewhere, folder: str) -> tuple[str | None, str | None] | None:
        """Name and version of the chart that a reference leads to."""
        if held.kind == "folder":
            found = self._given.get(("folder", self.folder(held, folder)), [])
            name = chart_name(held.name)
            if not found and known_chart(name) is not None:
                return name, None
        else:
            found = self._meant(held, folder)
        return (found[0].holder.chart, found[0].holder.version) if found else None

    def of_set(self, unopened: UnopenedRelease, reading: Reading) -> Iterator[UnopenedRelease]:
        """The releases of an ApplicationSet over the folders and files of the first folder above
        it that has any of them; another release as it is."""
        if unopened.document is None:
            yield unopened
            return
        found = [unopened.release]
        for root in folders_above(plain(reading.name)):
            start = start_of(root)
            names = [n.removeprefix(start) for n in self.by_name if n.startswith(start)]
            repository = Repository(
                {one for name in names for one in folders_above(name) if one != "."},
                names,
                lambda name, root=root: self.values_file(plain(f"{root}/{name}")),
            )
            made = list(argo_set(unopened.document, repository))
            same = [one for one in made if one.place == unopened.release.place]
            if same and same != [unopened.release]:
                found = same
                break
        for one in found:
            locator = replace(unopened.locator, cluster=one.cluster)
            yield replace(unopened, locator=locator, release=one, document=None)

    def maps(self, namespace: Any, folder: str) -> dict[str, Mapping[str, str]]:
        """Name -> keys of each ConfigMap that objects of a folder can mean for certain."""
        space = namespace if isinstance(namespace, str) else ""
        names = [name for kind, name in self._given if kind == "ConfigMap"]
        meant = {n: self._meant(HeldElsewhere("ConfigMap", n, space), folder) for n in names}
        return {name: one[0].holder.texts for name, one in meant.items() if len(one) == 1}

    def choices(self, release: WrappedRelease, folder: str) -> list[dict[HeldElsewhere, _Values]]:
        """Every way to find the values of a release: one for each overlay that gives some."""
        found = {
            source.held: list(self._values(source.held, folder))
            for source in release.sources
            if source.held is not None
        }
        ways = max((len(values) for values in found.values()), default=0)
        return [
            {held: values[min(at, len(values) - 1)] for held, values in found.items() if values}
            for at in range(ways)
        ]

    def _values(self, held: HeldElsewhere, folder: str) -> Iterator[_Values]:
        if held.kind == "file":
            name = self._file(held.name, folder)
            if name is not None and (values := self.values_file(name)) is not None:
                yield values
            return
        for given in self._meant(held, folder):
            text, file = given.holder.texts.get(held.key), given.holder.files.get(held.key)
            values = None
            if text is not None:
                place, used = joined("data", f"[{held.key}]"), (plain(given.reading.name), held.key)
                with suppress(UnreadableDocumentError):
                    values = _Values(yaml_value(text), given.reading, given.document, place, used)
            elif file is not None:
                own = posixpath.dirname(given.reading.name)
                values = self.values_file(plain(posixpath.join(own, file)))
            if values is not None:
                secret = given.holder.kind == "Secret"
                yield replace(values, data=_without_texts(values.data)) if secret else values

    def values_file(self, name: str) -> _Values | None:
        reading = self.by_name.get(name)
        if reading is None or reading.problem:
            return None
        if name not in self._read:
            self._read[name] = _first_document(reading.name)
        found = self._read[name]
        return None if found is None else _Values(found.data, reading, found, "", (name, ""))

    def with_files(self, release: WrappedRelease, folder: str) -> WrappedRelease:
        """A release with the files of values that the HelmChart it names has."""
        held = release.held
        given = self._meant(held, folder)[:1] if held and held.kind == "HelmChart" else []
        sources = (
            ValuesSource(release.place, held=HeldElsewhere("file", file), instead=True)
            for one in given
            for key, file in one.holder.files.items()
            if key != "chart"
        )
        return replace(release, sources=(*sources, *release.sources))

    def _meant(self, held: HeldElsewhere, folder: str) -> list[_Given]:
        """Targets of a reference: in the same folder, else anywhere."""
        named = self._given.get((held.kind, held.name), [])
        found = [given for given in named if given.holder.is_meant_by(held)]
        near = [given for given in found if posixpath.dirname(given.reading.name) == folder]
        return near or found

    def _file(self, written: str, folder: str) -> str | None:
        """A file of the run, by a path below the folder, or below the root of its repository."""
        bare = written
        if written.startswith("$"):
            bare = written.partition("/")[2]
        elif not written.startswith("/"):
            own = plain(posixpath.join(folder, written))
            if own in self.by_name:
                return own
        bare = bare.lstrip("/")
        names = (plain(posixpath.join(one, bare)) for one in folders_above(f"{folder}/_"))
        return next((name for name in names if name in self.by_name), None)

    def folder(self, held: HeldElsewhere, folder: str) -> str:
        """The folder of a chart of the run; empty: it is elsewhere."""
        given = self._meant(held, folder) if held.kind == "HelmChart" else []
        own = held.name if held.kind == "folder" else ""
        written = given[0].holder.files.get("chart", "") if given else own
        chart = self._file(posixpath.join(written, "Chart.yaml"), folder) if written else None
        return "" if chart is None else posixpath.dirname(chart) or "."


def _first_document(name: str) -> Document | None:
    """The first document of a file that was read before; None where that cannot be done again, and
    for objects: a path in another repository can be that of an Application here."""
    try:
        first = next(documents_of(Input(name)), None)
    except (OSError, UnreadableDocumentError):
        return None
    return None if first and {"apiVersion", "kind"} <= mapping(first.data).keys() else first


def _without_texts(value: Any) -> Any:
    """Values of a Secret without its texts: no message can quote one."""
    if isinstance(value, dict):
        return {key: _without_texts(item) for key, item in mapping(value).items()}
    if isinstance(value, list):
        return [_without_texts(item) for item in items(value)]
    return UNKNOWN if isinstance(value, str) else value
