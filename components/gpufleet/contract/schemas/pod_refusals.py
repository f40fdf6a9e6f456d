"""What the API server's code refuses in pods and their makers, though no definition says it.

Source: kubernetes v1.36.3 `pkg/apis/core/validation/validation.go` (`ValidatePodSpec` and what it
calls), `pkg/apis/apps/validation/validation.go`, `pkg/apis/batch/validation/validation.go`. Makers
of other groups write such pods later, and the server refuses them then.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpufleet.contract.schemas.problems import (
    SchemaProblem,
    SchemaProblemKind,
    path_of,
    visible,
)
from gpufleet.documents.paths import at_steps, mapping_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_list, as_mapping, is_list, is_mapping

Steps = tuple[str | int, ...]
Said = tuple[Steps, str, str | None]
"""Where, what is wrong and what to write."""

_TEMPLATES: dict[tuple[str, str], Steps] = {
    ("v1", "Pod"): (),
    ("apps/v1", "Deployment"): ("spec", "template"),
    ("apps/v1", "DaemonSet"): ("spec", "template"),
    ("apps/v1", "ReplicaSet"): ("spec", "template"),
    ("apps/v1", "StatefulSet"): ("spec", "template"),
    ("batch/v1", "Job"): ("spec", "template"),
    ("batch/v1", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
"""Kinds that the server validates with their pods -> where the template of the pods is."""
_CONTAINERS = ("initContainers", "containers")
_COMPARED = ("cpu", "memory", "ephemeral-storage")
"""Resources whose request may be below the limit; the others have a rule of their own."""
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"(?=.{1,15}\Z)(?=.*[a-z])(?!.*--)[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_FILLED_IN = frozenset("${}<>")
"""Characters of values that another program fills in."""
_OTHERS_OF_TOLERATION = {"effect", "operator", "tolerationSeconds", "value", "key"}
_CLAIM_NAMES = ("resourceClaimName", "resourceClaimTemplateName")


def refused_pods(document: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """The problems of every pod and toleration of an object, and of what a maker says of pods."""
    key = (str(document.get("apiVersion")), str(document.get("kind")))
    place = _TEMPLATES.get(key)
    said = list(_labels(("metadata", "labels"), mapping_at(document, "metadata.labels")))
    for steps, value in _mappings(document, ()):
        for where, one in _each(value, "tolerations", steps):
            said += _toleration(where, one)
        if any(is_mapping(one) for one in as_list(value.get("containers")) or []):
            said += _of_pod(steps, value)
    if place is not None:
        template = mapping_at(document, path_of(place)) if place else document
        said += _labels((*place, "metadata", "labels"), mapping_at(template, "metadata.labels"))
        said += _labels((*place, "spec", "nodeSelector"), mapping_at(template, "spec.nodeSelector"))
        said += _policy(key, place, template)
        said += _name(document)
        if _is_whole(document, key, template):
            said += _selector(document, place, template)
            said += _names((*place, "spec"), _mapping(template.get("spec")), document)
    yield from problems_of(document, said)


def problems_of(document: Mapping[str, Any], said: Iterable[Said]) -> Iterator[SchemaProblem]:
    """What is said of places of a document, as problems with the value that is there."""
    for steps, message, fix in said:
        value = visible(document, steps, at_steps(document, steps))
        kind = SchemaProblemKind.CONDITION
        yield SchemaProblem(kind, path_of(steps), message, fix, steps, value)


def _mappings(value: Any, steps: Steps) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Every mapping at or below a value."""
    if is_mapping(value):
        yield steps, value
    below = value.items() if is_mapping(value) else enumerate(as_list(value) or [])
    for step, item in below:
        if is_mapping(item) or is_list(item):
            yield from _mappings(item, (*steps, step))


def _of_pod(steps: Steps, pod: Mapping[str, Any]) -> Iterator[Said]:
    """What is written and cannot be, whatever else the pod may have."""
    for place, one in _each(pod, "volumes", steps):
        sources = [key for key, value in one.items() if is_mapping(value)]
        if len(sources) > 1:
            yield place, f"a volume has {' and '.join(sources)}", "write one of them"
    for place, one in _each(pod, "resourceClaims", steps):
        if all(one.get(name) is not None for name in _CLAIM_NAMES):
            yield place, f"an entry has {' and '.join(_CLAIM_NAMES)}", "write one of them"
    for kind in ("volumes", "resourceClaims"):
        yield from _repeated(list(_each(pod, kind, steps)), "name")
    yield from _repeated([one for kind in _CONTAINERS for one in _each(pod, kind, steps)], "name")
    for kind in _CONTAINERS:
        for place, container in _each(pod, kind, steps):
            yield from _container(place, container, is_init=kind == "initContainers")


def _toleration(place: Steps, one: Mapping[str, Any]) -> Iterator[Said]:
    operator = one.get("operator") or "Equal"
    if operator == "Exists" and one.get("value"):
        message = "a toleration with `operator: Exists` has a value"
        yield (*place, "value"), message, "remove the value, or write `operator: Equal`"
    elif operator == "Equal" and not one.get("key") and set(one) <= _OTHERS_OF_TOLERATION:
        yield place, "a toleration without a key needs `operator: Exists`", "write the taint's key"
    if one.get("tolerationSeconds") is not None and one.get("effect") != "NoExecute":
        message = "tolerationSeconds is of the effect NoExecute alone"
        yield (*place, "tolerationSeconds"), message, "remove it, or write `effect: NoExecute`"


def _container(place: Steps, container: Mapping[str, Any], *, is_init: bool) -> Iterator[Said]:
    for where, one in _each(container, "env", place):
        if one.get("value") and one.get("valueFrom") is not None:
            yield where, "a variable has value and valueFrom", "write one of them"
    yield from _repeated(list(_each(container, "volumeMounts", place)), "mountPath")
    ports = list(_each(container, "ports", place))
    yield from _repeated([(at, one) for at, one in ports if one.get("name")], "name")
    for where, one in ports:
        name = one.get("name")
        if isinstance(name, str) and name and _PORT_NAME.fullmatch(name) is None:
            message = f"the name of a port is {name!r}: at most 15 of a-z, 0-9 and -, with a letter"
            yield (*where, "name"), message, "write a shorter name"
    resources = _mapping(container.get("resources"))
    limits, requests = (_mapping(resources.get(name)) for name in ("limits", "requests"))
    for name in _COMPARED:
        asked, limit = (quantity(str(part.get(name))) for part in (requests, limits))
        if asked is not None and limit is not None and asked > limit:
            message = (
                f"the request of {name} ({requests[name]}) is above its limit ({limits[name]})"
            )
            yield (*place, "resources", "requests", name), message, f"write {limits[name]} or less"
    if not is_init:
        for probe in ("livenessProbe", "startupProbe"):
            threshold = _mapping(container.get(probe)).get("successThreshold")
            if isinstance(threshold, int) and threshold > 1:
                message = f"successThreshold of a {probe} is {threshold}, and only 1 is possible"
                yield (*place, probe, "successThreshold"), message, "remove it"


def _repeated(found: Sequence[tuple[Steps, Mapping[str, Any]]], key: str) -> Iterator[Said]:
    seen: set[str] = set()
    for place, one in found:
        value = one.get(key)
        if isinstance(value, str) and value in seen:
            yield (*place, key), f"{key} {value!r} is there twice", "write each once"
        elif isinstance(value, str):
            seen.add(value)


def _labels(steps: Steps, labels: Mapping[str, Any]) -> Iterator[Said]:
    for key, value in labels.items():
        if isinstance(value, str) and not (
            _FILLED_IN & set(value) or _LABEL_VALUE.fullmatch(value)
        ):
            message = f"the value of {key} is no label value: letters, digits, -, _ and ., up to 63"
            yield (*steps, key), message, None


def _name(document: Mapping[str, Any]) -> Iterator[Said]:
    name = _mapping(document.get("metadata")).get("name")
    if not isinstance(name, str) or name.upper() == name or _FILLED_IN & set(name):
        return  # words in capitals are filled in too, and so is __INDEX__
    if "__" not in name and _SUBDOMAIN.fullmatch(name) is None:
        message = f"the name {name!r} is none: lower-case letters, digits, - and ., up to 253"
        yield ("metadata", "name"), message, None


def _policy(key: tuple[str, str], place: Steps, template: Mapping[str, Any]) -> Iterator[Said]:
    """Which restartPolicy the pods of a maker may have."""
    spec = _mapping(template.get("spec"))
    found, where = spec.get("restartPolicy"), (*place, "spec", "restartPolicy")
    if key[0] == "apps/v1" and isinstance(found, str) and found != "Always":
        yield where, f"pods of a {key[1]} have restartPolicy Always, not {found}", "remove it"
    if key[0] == "batch/v1" and found == "Always":
        message = "pods of a Job have restartPolicy Never or OnFailure, not Always"
        yield where, message, "write `restartPolicy: Never`"


def _is_whole(
    document: Mapping[str, Any], key: tuple[str, str], template: Mapping[str, Any]
) -> bool:
    """Whether it is a whole object, and no patch of one: a patch leaves out what it keeps."""
    metadata = _mapping(document.get("metadata"))
    containers = as_list(mapping_at(template, "spec").get("containers")) or []
    return (
        bool(metadata.get("name") or metadata.get("generateName"))
        and bool(containers)
        and all(_mapping(one).get("image") for one in containers)
        and (key[0] != "apps/v1" or bool(mapping_at(document, "spec.selector")))
    )


def _selector(
    document: Mapping[str, Any], place: Steps, template: Mapping[str, Any]
) -> Iterator[Said]:
    steps = ("spec", "selector", "matchLabels")
    wanted, labels = mapping_at(document, path_of(steps)), mapping_at(template, "metadata.labels")
    for key, value in wanted.items() if document.get("apiVersion") == "apps/v1" else ():
        if labels.get(key) != value:
            message = f"the selector asks for the label {key}, which the pods do not have so"
            fix = f"write the same {key} in {path_of((*place, 'metadata', 'labels'))}"
            yield (*steps, key), message, fix


def _names(steps: Steps, pod: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Said]:
    """Names that containers use and the pod does not declare."""
    templates = as_list(mapping_at(document, "spec").get("volumeClaimTemplates")) or []
    claimed = [mapping_at(one, "metadata") for one in templates if is_mapping(one)]
    volumes = _texts([*claimed, *(one for _, one in _each(pod, "volumes", steps))])
    claims = _texts(one for _, one in _each(pod, "resourceClaims", steps))
    for place, one in _each(pod, "resourceClaims", steps):
        if all(one.get(name) is None for name in _CLAIM_NAMES):
            message = f"an entry names neither {' nor '.join(_CLAIM_NAMES)}"
            yield place, message, f"write `{_CLAIM_NAMES[1]}: ...` next to `name`"
    for kind in _CONTAINERS:
        for place, container in _each(pod, kind, steps):
            for where, one in _each(container, "volumeMounts", place):
                if isinstance(one.get("name"), str) and one["name"] not in volumes:
                    message = f"no volume is called {one['name']}"
                    yield (*where, "name"), message, "add it to volumes, or remove the mount"
            used = _each(_mapping(container.get("resources")), "claims", (*place, "resources"))
            for where, one in used:
                if isinstance(one.get("name"), str) and one["name"] not in claims:
                    message = f"no entry of resourceClaims is called {one['name']}"
                    yield (*where, "name"), message, "add it to resourceClaims of the pod"


def _texts(found: Iterable[Mapping[str, Any]]) -> set[str]:
    """The names of entries; what is no text names nothing (the schema says so)."""
    return {name for one in found if isinstance(name := one.get("name"), str)}


def _each(
    value: Mapping[str, Any], key: str, steps: Steps
) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    for index, one in enumerate(as_list(value.get(key)) or []):
        if is_mapping(one):
            yield (*steps, key, index), one


def _mapping(value: Any) -> Mapping[str, Any]:
    return as_mapping(value) or {}
