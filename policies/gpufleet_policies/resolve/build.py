"""Kustomizations built into objects: the output of `kustomize build`, with the path of each field.

It supports the features that kustomizations of GPU repositories use. The audit lists each
unsupported one as a problem: other machines (`https://`), plugins, `vars`. Names of
generated objects have no hash.

Source: kubernetes-sigs/kustomize api/internal/target/kusttarget.go at kustomize v5.5.0, for the
order of operations.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.release_values import HeldElsewhere, WrappedRelease
from gpufleet.documents.document import Document
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import entries_at, items_at, mapping_at, text_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.readers.document_text import read_documents
from gpufleet_policies.readers.members import has_members, members_of
from gpufleet_policies.resolve.charts import rendered
from gpufleet_policies.resolve.json_patch import PatchConflictError, patched, pointer_keys
from gpufleet_policies.resolve.layers import Layer, Layers, LinesOfText, Steps
from gpufleet_policies.resolve.made import Made, fits
from gpufleet_policies.resolve.strategic_merge import merged, merges_lists
from gpufleet_policies.resolve.transformers import (
    labelled,
    moved,
    renamed,
    replaced,
    scaled,
    with_images,
    with_references,
)
from gpufleet_policies.resolve.tree import Tree, UnresolvedError, is_remote, plain
from gpufleet_policies.wrappers.files import GENERATORS, generated_files, kustomization
from gpufleet_policies.wrappers.judged import Unjudged
from gpufleet_policies.wrappers.release import found_elsewhere

_NOT_READ = ("generators", "transformers", "vars")
_DEEPEST = 20


@dataclass(slots=True)
class Built:
    """Result of a kustomization."""

    objects: list[Made] = field(default_factory=list[Made])
    problems: list[Unjudged] = field(default_factory=list[Unjudged])
    """Parts of a kustomization that are not resolved."""
    files: set[str] = field(default_factory=set[str])
    """All of its source files."""


def build(folder: str, tree: Tree) -> Built:
    """The objects of the kustomization of a folder."""
    builder = _Builder(tree)
    builder.accumulate(folder, builder.built.objects, is_component=False, above=())
    with_references(builder.built.objects)
    for one in builder.built.objects:
        one.layers.data = one.data
    return builder.built


@dataclass(slots=True)
class _Place:
    """A kustomization that is worked on."""

    folder: str
    file: str
    document: Document
    data: Mapping[str, Any]

    def at(self, path: str) -> str:
        return plain(posixpath.join(self.folder, path))

    def near(self, path: Any) -> str:
        """A path that may be on another machine. Raises UnresolvedError."""
        if not isinstance(path, str):
            raise UnresolvedError("it is not a path")
        if is_remote(path):
            raise UnresolvedError(f"{path} is on another machine, which an audit does not access")
        return self.at(path)


class _Builder:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.built = Built()

    def accumulate(
        self, folder: str, into: list[Made], *, is_component: bool, above: tuple[str, ...]
    ) -> None:
        """Add what a kustomization makes; a component changes what is there already."""
        file = self.tree.kustomization(folder)
        if file is None:
            raise UnresolvedError(f"{folder} has no kustomization")
        if folder in above or len(above) > _DEEPEST:
            raise UnresolvedError(f"{folder} is a part of itself")
        document = next(iter(self.tree.documents(file)), Document({}))
        here = _Place(folder, file, document, mapping(document.data))
        self.built.files.add(file)
        own = into if is_component else []
        below = (*above, folder)
        for name in ("resources", "bases"):
            for place, path in items_at(here.data, name):
                self._tried(here, place, self._resource, path, own, below)
        for place, path in items_at(here.data, "components"):
            self._tried(here, place, self._resource, path, own, below, True)
        for release in kustomization(here.data):
            if release.held is not None:
                self._tried(here, release.place, self._inflate, release, own)
        self._generate(here, own)
        self._transform(here, own)
        if not is_component:
            into.extend(own)

    def _tried(self, here: _Place, place: str, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(here, *arguments)
        except UnresolvedError as problem:
            self._problem(here, place, str(problem))

    def _problem(self, here: _Place, place: str, reason: str) -> None:
        name = place.partition("[")[0]
        line = max(1, here.document.line_of((name,)))
        self.built.problems.append(Unjudged(here.file, line, place, "overlay", reason))

    def _resource(
        self,
        here: _Place,
        path: Any,
        own: list[Made],
        above: tuple[str, ...],
        is_component: bool = False,
    ) -> None:
        where = here.near(path)
        if is_component or self.tree.is_folder(where):
            self.accumulate(where, own, is_component=is_component, above=above)
            return
        for document in self.tree.documents(where):
            self.built.files.add(where)
            own += _objects(document, where)

    def _inflate(self, here: _Place, release: WrappedRelease, own: list[Made]) -> None:
        """Add the objects of a chart of the tree."""

        def values(held: HeldElsewhere) -> Any:
            document = next(iter(self.tree.documents(here.at(held.name))), None)
            return None if document is None else document.data

        found = found_elsewhere(release, values, lambda _: None)
        own += rendered(here.at(found.held.name if found.held else ""), found, self.tree)

    def _generate(self, here: _Place, own: list[Made]) -> None:
        for name, kind in GENERATORS.items():
            for index, (place, entry) in enumerate(entries_at(here.data, name)):
                self._tried(here, place, self._generated, kind, entry, (name, index), own)

    def _generated(
        self, here: _Place, kind: str, entry: Mapping[str, Any], lines: Steps, own: list[Made]
    ) -> None:
        data: dict[str, Any] = {}
        layers: list[Layer] = []
        for written in items(entry.get("literals")):
            key, _, value = str(written).partition("=")
            data[key] = value
        for key, path in generated_files(entry):
            where = here.at(path)
            text = self.tree.content(where).decode("utf-8", errors="replace")
            self.built.files.add(where)
            data[key] = text
            layers.append(Layer(where, LinesOfText(text), text, ("data", key)))
        for written in (*items(entry.get("envs")), entry.get("env")):
            if isinstance(written, str):
                text = self.tree.content(here.at(written)).decode("utf-8", errors="replace")
                pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
                data |= {k.strip(): v for k, _, v in pairs if not k.startswith("#")}
        if kind == "Secret":
            data = dict.fromkeys(data, UNKNOWN)
        name, behaviour = text_at(entry, "name"), text_at(entry, "behavior")
        if behaviour in ("merge", "replace"):
            for one in own:
                if one.kind == kind and one.is_called(name):
                    before = mapping(one.data.get("data")) if behaviour == "merge" else {}
                    one.data = {**one.data, "data": {**before, **data}}
                    one.layers.layers += layers
            return
        options = {**mapping_at(here.data, "generatorOptions"), **mapping(entry.get("options"))}
        metadata = {"name": name} | {
            key: value for key in ("labels", "annotations") if (value := mapping(options.get(key)))
        }
        if text_at(entry, "namespace"):
            metadata["namespace"] = text_at(entry, "namespace")
        made = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}
        first = Layer(here.file, here.document, made, at=lines)
        own.append(Made(made, Layers(made, [first, *layers]), generated=True))

    def _transform(self, here: _Place, own: list[Made]) -> None:
        self._patch(here, own, ("patchesStrategicMerge", "patches"))
        if text_at(here.data, "namespace"):
            moved(own, text_at(here.data, "namespace"))
        renamed(own, text_at(here.data, "namePrefix"), text_at(here.data, "nameSuffix"))
        labelled(own, here.data)
        self._patch(here, own, ("patchesJson6902",))
        for name in scaled(own, here.data, here.file, here.document):
            self._problem(here, "replicas", f"there is no object {name}")
        with_images(own, here.data, here.file, here.document)
        entries = list(self._replacements(here))
        for reason in replaced(own, entries):
            self._problem(here, "replacements", reason)
        for name in _NOT_READ:
            if here.data.get(name):
                self._problem(here, name, f"`{name}` is not supported: build it with kustomize")

    def _replacements(self, here: _Place) -> Iterator[Mapping[str, Any]]:
        for place, entry in entries_at(here.data, "replacements"):
            path = text_at(entry, "path")
            if not path:
                yield entry
                continue
            try:
                documents = self.tree.documents(here.at(path))
            except UnresolvedError as problem:
                self._problem(here, place, str(problem))
                continue
            for document in documents:
                data = document.data
                listed = data if is_list(data) else items(mapping(data).get("replacements"))
                yield from map(mapping, listed or [data])

    def _patch(self, here: _Place, own: list[Made], fields: tuple[str, ...]) -> None:
        for name in fields:
            for index, (place, entry) in enumerate(items_at(here.data, name)):
                self._tried(here, place, self._one_patch, own, entry, (name, index))

    def _one_patch(self, here: _Place, own: list[Made], entry: Any, at: Steps) -> None:
        target: Any = None
        options: Mapping[str, Any] = {}
        if isinstance(entry, str):
            text, path = (entry, "") if "\n" in entry else ("", entry)
        elif is_mapping(entry):
            text, path = text_at(entry, "patch"), text_at(entry, "path")
            target, options = entry.get("target"), mapping(entry.get("options"))
            at = (*at, "patch")
        else:
            raise UnresolvedError("it is not a patch")
        if path:
            file = here.near(path)
            layers = [Layer(file, one, one.data) for one in self.tree.documents(file)]
        else:
            file = here.file
            try:
                documents = read_documents(text)
            except UnreadableDocumentError as problem:
                raise UnresolvedError(str(problem)) from None
            layers = [Layer(file, here.document, one.data, at=at) for one in documents]
        for layer in layers:
            if self._carry_out(own, layer, target, options):
                self.built.files.add(file)

    def _carry_out(
        self, own: list[Made], patch: Layer, target: Any, options: Mapping[str, Any]
    ) -> bool:
        """Change what a patch is about; gives whether there is anything."""
        found = [one for one in own if target is not None and fits(target, one)]
        if is_list(patch.data):
            if target is None:
                raise UnresolvedError("a JSON patch needs a target")
            for one in found:
                _operations(one, patch, patch.data)
            return bool(found)
        if not is_mapping(patch.data):
            raise UnresolvedError("it is not a patch")
        if target is None:
            found = [one for one in own if _is_meant(patch.data, one)]
            if not found:
                name = f"{text_at(patch.data, 'kind')} {text_at(patch.data, 'metadata.name')}"
                raise UnresolvedError(f"{name}, its object, is missing")
        for one in found:
            _merge(one, patch, options)
            if not one.data:
                own.remove(one)
        return bool(found)


def _operations(one: Made, patch: Layer, listed: list[Any]) -> None:
    try:
        operations = list(map(mapping, listed))
        one.data = patched(one.data, operations, replaces_nothing=True)
    except PatchConflictError as problem:
        one.problem = f"a patch of {patch.file} does not fit: {problem}"
        return
    for index, operation in enumerate(operations):
        under = _steps_in(one.data, pointer_keys(str(operation.get("path"))))
        if under is not None and "value" in operation:
            at, value = (*patch.at, index, "value"), operation["value"]
            one.layers.layers.append(replace(patch, data=value, under=under, at=at))


def _steps_in(data: Any, keys: list[str]) -> Steps | None:
    """A pointer as steps of the patched object; `-` is its last item."""
    steps: list[str | int] = []
    for key in keys:
        if is_list(data):
            index = len(data) - 1 if key == "-" else int(key) if key.isdecimal() else -1
            if not 0 <= index < len(data):
                return None
            steps.append(index)
            data = data[index]
        else:
            steps.append(key)
            data = mapping(data).get(key)
    return tuple(steps)


def _merge(one: Made, patch: Layer, options: Mapping[str, Any]) -> None:
    by_keys = merges_lists(one.data.get("apiVersion"))
    found = merged(one.data, patch.data, by_keys=by_keys)
    if found is None:
        one.data = {}
        return
    own = mapping(one.data.get("metadata"))
    if options.get("allowNameChange") is not True:
        kept = {key: own[key] for key in ("name", "namespace") if key in own}
        metadata = {k: v for k, v in mapping(found.get("metadata")).items() if k != "namespace"}
        found["metadata"] = {**metadata, **kept}
    if options.get("allowKindChange") is not True:
        found |= {key: one.data[key] for key in ("apiVersion", "kind") if key in one.data}
    one.data = found
    one.layers.layers.append(patch)


def _is_meant(patch: Mapping[str, Any], one: Made) -> bool:
    """Whether a patch without a target is about an object: kind, group, name and namespace."""
    group = text_at(patch, "apiVersion").rpartition("/")[0]
    if text_at(patch, "kind") != one.kind or group != one.group_version[0]:
        return False
    return one.is_called(text_at(patch, "metadata.name"), text_at(patch, "metadata.namespace"))


def _objects(document: Document, file: str) -> Iterator[Made]:
    data = mapping(document.data)
    members = list(members_of(data)) if has_members(data) else [((), document.data)]
    for steps, member in members:
        if is_mapping(member) and "kind" in member:
            layer = Layer(file, document, member, at=steps)
            yield Made(member, Layers(member, [layer]))
