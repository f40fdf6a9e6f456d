"""Changes of a kustomization to all its objects: names, namespace, labels, images, replicas.

Source: kubernetes-sigs/kustomize api/internal/konfig/builtinpluginconsts and
api/filters at kustomize v5.5.0.

Source of replacements: kubernetes-sigs/kustomize api/filters/replacement/replacement.go at v5.5.0.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from gpufleet.documents.paths import entries_at, mapping_at, text_at, value_at, values_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.names import meanings
from gpufleet_policies.resolve.layers import Layer, Steps
from gpufleet_policies.resolve.made import CLUSTER_WIDE, Made, fits
from gpufleet_policies.resolve.written_lines import Located
from gpufleet_policies.wrappers.release import with_value

_STEP = re.compile(r"\[([^\]=]+)=([^\]]*)\]|((?:[^.\\]|\\.)+)")


def replaced(made: Sequence[Made], entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Carry replacements out; gives what of them cannot be."""
    for entry in entries:
        source = mapping(entry.get("source"))
        found = [one for one in made if fits(source, one)]
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
            chosen, rejected = target.get("select"), items(target.get("reject"))
            for one in made:
                if fits(chosen, one) and not any(fits(other, one) for other in rejected):
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
_TEMPLATES = ("spec.template", "spec.jobTemplate", "spec.jobTemplate.spec.template")
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
            _deep(one, "metadata.labels", pairs)
            if templates and one.kind in _WITH_TEMPLATES:
                _in_templates(one, "labels", pairs)
            if selects and one.kind in _SELECTING:
                _deep(one, "spec.selector.matchLabels", pairs)
            # A Service without a selector chooses no pods.
            chosen = one.kind == "Service" and bool(value_at(one.data, "spec.selector"))
            if selects and (chosen or one.kind == "ReplicationController"):
                _deep(one, "spec.selector", pairs)
        if notes:
            _deep(one, "metadata.annotations", notes)
            if one.kind in _WITH_TEMPLATES:
                _in_templates(one, "annotations", notes)


def _in_templates(one: Made, key: str, pairs: Mapping[str, Any]) -> None:
    for path in _TEMPLATES:
        if is_mapping(value_at(one.data, path)):
            _deep(one, f"{path}.metadata.{key}", pairs)


def _deep(one: Made, path: str, pairs: Mapping[str, Any]) -> None:
    """Write entries over those of the mapping at a path."""
    both = {**mapping_at(one.data, path), **pairs}
    one.data = mapping(with_value(one.data, tuple(path.split(".")), both))


def scaled(
    made: Iterable[Made], kustomization: Mapping[str, Any], file: str, lines: Located
) -> Iterator[str]:
    """Set the `replicas` of objects; gives the names that no object has."""
    objects, place = list(made), ("spec", "replicas")
    for index, (_, entry) in enumerate(entries_at(kustomization, "replicas")):
        name, count = text_at(entry, "name"), entry.get("count")
        hits = [one for one in objects if one.kind in _REPLICATED and one.is_called(name)]
        if not hits:
            yield name
        for one in hits:
            one.data = mapping(with_value(one.data, place, count))
            at: Steps = ("replicas", index, "count")
            one.layers.layers.append(Layer(file, lines, count, place, at))


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


_POD_SPECS = ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
_REFERENCES = meanings("reference of pods")
"""Path below the specification of pods -> kind of the object that is named there."""


def with_references(made: Sequence[Made]) -> None:
    """Rename what objects of Kubernetes' own kinds refer to, where that was renamed."""
    for one in made if any(one.names for one in made) else ():
        if one.kind == "HorizontalPodAutoscaler":
            kind = text_at(one.data, "spec.scaleTargetRef.kind")
            _refer(made, one, "spec.scaleTargetRef.name", kind)
        if one.kind == "StatefulSet":
            _refer(made, one, "spec.serviceName", "Service")
        for place in _POD_SPECS:
            if "containers" in mapping_at(one.data, place):
                for path, kind in _REFERENCES.items():
                    _refer(made, one, f"{place}.{path}", kind)


def _refer(made: Sequence[Made], one: Made, path: str, kind: str) -> None:
    """Rename the objects of a kind that another names at a path."""
    for steps, name in values_at(one.data, path):
        meant = [other for other in made if other.kind == kind and other.is_called(name)]
        same = [other for other in meant if other.namespace == one.namespace] or meant
        if len(same) == 1 and same[0].name != name:
            one.data = mapping(with_value(one.data, steps, same[0].name))
