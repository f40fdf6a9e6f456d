"""Changes of a kustomization to all its objects: names, namespace, labels, images, replicas.

Source: kubernetes-sigs/kustomize api/internal/konfig/builtinpluginconsts and
api/filters at kustomize v5.5.0.

Source of replacements: kubernetes-sigs/kustomize api/filters/replacement/replacement.go at v5.5.0.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from gpufleet.documents.paths import entries_at, text_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.resolve.layers import Layer, Steps
from gpufleet_policies.resolve.made import CLUSTER_WIDE, Made, selector
from gpufleet_policies.resolve.written_lines import Located

_STEP = re.compile(r"\[([^\]=]+)=([^\]]*)\]|((?:[^.\\]|\\.)+)")


def replaced(made: Sequence[Made], entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Carry replacements out; gives what of them cannot be."""
    for entry in entries:
        source = mapping(entry.get("source"))
        found = [one for one in made if selector(source).fits(one)]
        if len(found) != 1:
            number = "no object" if not found else f"{len(found)} objects"
            yield f"{number} for the source {text_at(source, 'kind')} {text_at(source, 'name')}"
            continue
        path = text_at(source, "fieldPath") or "metadata.name"
        values = list(_values(found[0].data, _steps(path)))
        if len(values) != 1:
            yield f"no value at {path} of {found[0].kind} {found[0].name}"
            continue
        value = _part(values[0], mapping(source.get("options")))
        for _, target in entries_at(entry, "targets"):
            chosen = selector(target.get("select"))
            rejected = [selector(one) for one in items(target.get("reject"))]
            for one in made:
                if chosen.fits(one) and not any(other.fits(one) for other in rejected):
                    _write(one, target, value)


def _write(one: Made, target: Mapping[str, Any], value: Any) -> None:
    options = mapping(target.get("options"))
    paths = items(target.get("fieldPaths")) or ["metadata.name"]
    one.data = copy.deepcopy(one.data)
    for path in paths:
        if isinstance(path, str):
            _set(one.data, _steps(path), value, options)


def _set(here: Any, steps: Sequence[Any], value: Any, options: Mapping[str, Any]) -> None:
    step, rest = steps[0], steps[1:]
    for container, key in _places(here, step, create=options.get("create") is True and bool(rest)):
        if rest:
            _set(container[key], rest, value, options)
        elif key in container if is_mapping(container) else True:
            container[key] = _placed(container[key], value, options)
        elif options.get("create") is True:
            container[key] = value


def _places(here: Any, step: Any, *, create: bool) -> Iterator[tuple[Any, Any]]:
    if is_list(here):
        key, value = cast("tuple[str, str]", step) if isinstance(step, tuple) else ("", "")
        for index, one in enumerate(here):
            is_meant = bool(key) and is_mapping(one) and str(one.get(key)) == value
            if is_meant or step in ("*", str(index)):
                yield here, index
    elif is_mapping(here) and isinstance(step, str):
        if create and step not in here:
            here[step] = {}
        if step in here or not create:
            yield here, step


def _placed(before: Any, value: Any, options: Mapping[str, Any]) -> Any:
    delimiter = text_at(options, "delimiter")
    if not delimiter or not isinstance(before, str):
        return str(value) if isinstance(before, str) and isinstance(value, int) else value
    parts = before.split(delimiter)
    index = options.get("index", 0)
    if not isinstance(index, int):
        return value
    if index < 0:
        parts.insert(0, str(value))
    elif index >= len(parts):
        parts.append(str(value))
    else:
        parts[index] = str(value)
    return delimiter.join(parts)


def _part(value: Any, options: Mapping[str, Any]) -> Any:
    delimiter, index = text_at(options, "delimiter"), options.get("index", 0)
    if not delimiter or not isinstance(value, str) or not isinstance(index, int):
        return value
    parts = value.split(delimiter)
    return parts[index] if 0 <= index < len(parts) else value


def _values(here: Any, steps: Sequence[Any]) -> Iterator[Any]:
    if not steps:
        yield here
        return
    for container, key in _places(here, steps[0], create=False):
        if is_list(container) or key in container:
            yield from _values(container[key], steps[1:])


def _steps(path: str) -> list[Any]:
    """`spec.containers.[name=a].image` as steps; a dot of a key is written with a backslash."""
    return [
        (found[1], found[2]) if found[1] else found[3].replace("\\", "")
        for found in _STEP.finditer(path)
    ]


_UNNAMED = frozenset({"CustomResourceDefinition", "APIService", "Namespace"})
"""Kinds whose names have no prefix or suffix added."""
_REPLICATED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
_TEMPLATES: tuple[Steps, ...] = (
    ("spec", "template"),
    ("spec", "jobTemplate"),
    ("spec", "jobTemplate", "spec", "template"),
)
"""Paths of the metadata of created objects in built-in kinds."""
_SELECTING = frozenset({"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"})
_WITH_TEMPLATES = frozenset({*_REPLICATED, "DaemonSet", "Job", "CronJob"})


def renamed(made: Iterable[Made], prefix: str, suffix: str) -> None:
    """Add a prefix and a suffix to the names."""
    for one in made:
        if (prefix or suffix) and one.kind not in _UNNAMED:
            _set_metadata(one, name=f"{prefix}{one.name}{suffix}")


def moved(made: Iterable[Made], namespace: str) -> None:
    """Put objects into a namespace; the object of a namespace gets its name."""
    for one in made:
        if one.kind == "Namespace":
            _set_metadata(one, name=namespace)
        elif one.kind not in CLUSTER_WIDE:
            _set_metadata(one, namespace=namespace)


def _set_metadata(one: Made, **changes: str) -> None:
    before = (one.namespace, one.name)
    own = mapping(one.data.get("metadata"))
    if any(own.get(key) != value for key, value in changes.items()):
        one.names.append(before)
        one.data = {**one.data, "metadata": {**own, **changes}}


def labelled(made: Iterable[Made], kustomization: Mapping[str, Any]) -> None:
    """Add `labels`, `commonLabels` and `commonAnnotations`."""
    found: list[tuple[Mapping[str, Any], bool, bool]] = []
    for _, entry in entries_at(kustomization, "labels"):
        selects = entry.get("includeSelectors") is True
        templates = selects or entry.get("includeTemplates") is True
        found.append((mapping(entry.get("pairs")), selects, templates))
    common = mapping(kustomization.get("commonLabels"))
    if common:
        found.append((common, True, True))
    notes = mapping(kustomization.get("commonAnnotations"))
    for one in made:
        for pairs, selects, templates in found:
            one.metadata("labels", pairs)
            if templates and one.kind in _WITH_TEMPLATES:
                _in_templates(one, "labels", pairs)
            if selects and one.kind in _SELECTING:
                _deep(one, ("spec", "selector", "matchLabels"), pairs)
            if selects and _is_selected_by_labels(one):
                _deep(one, ("spec", "selector"), pairs)
        if notes:
            one.metadata("annotations", notes)
            if one.kind in _WITH_TEMPLATES:
                _in_templates(one, "annotations", notes)


def _is_selected_by_labels(one: Made) -> bool:
    """Whether an object selects pods by plain labels."""
    selector = mapping(one.data.get("spec")).get("selector")
    return one.kind == "ReplicationController" or (one.kind == "Service" and bool(selector))


def _in_templates(one: Made, key: str, pairs: Mapping[str, Any]) -> None:
    for place in _TEMPLATES:
        here: Any = one.data
        for step in place:
            here = mapping(here).get(str(step))
        if is_mapping(here):
            _deep(one, (*place, "metadata", key), pairs)


def _deep(one: Made, place: Steps, pairs: Mapping[str, Any]) -> None:
    one.data = copy.deepcopy(one.data)
    here = one.data
    for step in place:
        below = here.get(str(step))
        if not is_mapping(below):
            below = {}
            here[str(step)] = below
        here = below
    here.update(pairs)


def scaled(
    made: Iterable[Made], kustomization: Mapping[str, Any], file: str, lines: Located
) -> Iterator[str]:
    """Set the `replicas` of objects; gives the names that no object has."""
    objects = list(made)
    for index, (_, entry) in enumerate(entries_at(kustomization, "replicas")):
        name, count = text_at(entry, "name"), entry.get("count")
        hits = [one for one in objects if one.kind in _REPLICATED and one.is_called(name)]
        if not hits:
            yield name
        for one in hits:
            one.data = {**one.data, "spec": {**mapping(one.data.get("spec")), "replicas": count}}
            at: Steps = ("replicas", index, "count")
            one.layers.layers.append(Layer(file, lines, count, ("spec", "replicas"), at))


def with_images(
    made: Iterable[Made], kustomization: Mapping[str, Any], file: str, lines: Located
) -> None:
    """Set names, tags and digests of the images of containers, in objects of any kind."""
    entries = [entry for _, entry in entries_at(kustomization, "images")]
    if not entries:
        return
    for one in made:
        one.data = copy.deepcopy(one.data)
        for place, container in _containers(one.data, ()):
            image = container.get("image")
            for index, entry in enumerate(entries):
                changed = _image(image, entry) if isinstance(image, str) else None
                if changed is not None and changed != image:
                    container["image"] = image = changed
                    under = (*place, "image")
                    layer = Layer(file, lines, changed, under, ("images", index))
                    one.layers.layers.append(layer)


def _containers(data: Any, place: Steps) -> Iterator[tuple[Steps, dict[str, Any]]]:
    if is_mapping(data):
        for key, value in data.items():
            if key in ("containers", "initContainers") and is_list(value):
                for index, one in enumerate(value):
                    if is_mapping(one):
                        yield (*place, key, index), one
            yield from _containers(value, (*place, key))
    elif is_list(data):
        for index, value in enumerate(data):
            yield from _containers(value, (*place, index))


def _image(image: str, entry: Mapping[str, Any]) -> str | None:
    """The image with what an entry changes; None where it is about another one."""
    name, _, digest = image.partition("@")
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        head, tag = name, ""
    if head != text_at(entry, "name"):
        return None
    new = text_at(entry, "newName") or head
    written = entry.get("newTag")
    if text_at(entry, "digest"):
        return f"{new}@{text_at(entry, 'digest')}"
    if written is not None:
        return f"{new}:{written}{text_at(entry, 'tagSuffix')}"
    rest = f":{tag}" if tag else ""
    return f"{new}{rest}{text_at(entry, 'tagSuffix')}" + (f"@{digest}" if digest else "")


_POD_SPECS: tuple[Steps, ...] = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)


def with_references(made: list[Made]) -> None:
    """Rename what objects of Kubernetes' own kinds refer to, where that was renamed."""
    if not any(one.names for one in made):
        return
    for one in made:
        refer = _Referrer(made, one)
        if one.kind == "HorizontalPodAutoscaler":
            target = mapping(mapping(one.data.get("spec")).get("scaleTargetRef"))
            refer.rename(("spec", "scaleTargetRef", "name"), text_at(target, "kind"))
        if one.kind == "StatefulSet":
            refer.rename(("spec", "serviceName"), "Service")
        for place in _POD_SPECS:
            spec: Any = one.data
            for step in place:
                spec = mapping(spec).get(str(step))
            if is_mapping(spec) and "containers" in spec:
                refer.pods(place, spec)


class _Referrer:
    """Renames what one object refers to."""

    def __init__(self, made: list[Made], one: Made) -> None:
        self._made, self._one = made, one

    def pods(self, place: Steps, spec: Mapping[str, Any]) -> None:
        self.rename((*place, "serviceAccountName"), "ServiceAccount")
        for index in range(len(items(spec.get("volumes")))):
            at: Steps = (*place, "volumes", index)
            self.rename((*at, "configMap", "name"), "ConfigMap")
            self.rename((*at, "secret", "secretName"), "Secret")
            self.rename((*at, "persistentVolumeClaim", "claimName"), "PersistentVolumeClaim")
        for field in ("containers", "initContainers"):
            for index, container in enumerate(items(spec.get(field))):
                at = (*place, field, index)
                for number in range(len(items(mapping(container).get("envFrom")))):
                    self.rename((*at, "envFrom", number, "configMapRef", "name"), "ConfigMap")
                    self.rename((*at, "envFrom", number, "secretRef", "name"), "Secret")
                for number in range(len(items(mapping(container).get("env")))):
                    base: Steps = (*at, "env", number, "valueFrom")
                    self.rename((*base, "configMapKeyRef", "name"), "ConfigMap")
                    self.rename((*base, "secretKeyRef", "name"), "Secret")

    def rename(self, place: Steps, kind: str) -> None:
        here: Any = self._one.data
        for step in place:
            if is_mapping(here):
                here = here.get(str(step))
            elif is_list(here) and isinstance(step, int):
                here = here[step]
        if not isinstance(here, str):
            return
        meant = [one for one in self._made if one.kind == kind and one.is_called(here)]
        same = [one for one in meant if one.namespace == self._one.namespace] or meant
        if len(same) == 1 and same[0].name != here:
            self._one.data = _with(self._one.data, place, same[0].name)


def _with(data: Any, place: Steps, value: Any) -> Any:
    if not place:
        return value
    step, rest = place[0], place[1:]
    if is_list(data) and isinstance(step, int):
        return [_with(one, rest, value) if i == step else one for i, one in enumerate(data)]
    own = mapping(data)
    return {**own, str(step): _with(own.get(str(step)), rest, value)}
