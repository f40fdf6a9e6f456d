"""A Kubernetes object as a Workload: every kind that makes pods, built in or custom."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet_policies.adapters import intent as intents
from gpufleet_policies.adapters.pod_templates import KINDS, Kind, RawGroup
from gpufleet_policies.adapters.quantities import amount
from gpufleet_policies.adapters.reading import (
    at,
    boolean,
    fact,
    items,
    mapping,
    text,
    whole,
    words,
)
from gpufleet_policies.facts.intent import Intent
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.tristate import UNKNOWN, Fact, absent, unknown
from gpufleet_policies.facts.workload import Amount, Container, PodGroup, Workload


def workload_from(
    document: Mapping[str, Any],
    locator: Locator,
    api_group: str,
    catalogue: Callable[[], Catalogue],
) -> Workload | None:
    """The pods an object makes; None when its kind makes none.

    `document` is plain data with UNKNOWN where a value cannot be read; the catalogue is only asked
    when a command line names a model.
    """
    kind = KINDS.get((api_group, locator.kind))
    if kind is None:
        return None
    whole_document = dict(document)
    raw_groups = list(kind.groups(whole_document))
    groups = tuple(_group(raw) for raw in raw_groups)
    annotations = _annotations(whole_document, raw_groups)
    return Workload(
        locator=locator,
        api_group=api_group,
        pod_groups=groups,
        runs_to_completion=kind.runs_to_completion,
        template_checked_on_creation=kind.checked_on_creation,
        suspended=fact(at(document, kind.suspend), boolean, kind.suspend).or_default(False),
        deadline_seconds=_deadline(whole_document, kind),
        intent=_intent(annotations, groups, raw_groups, catalogue),
        annotations={k: v for k, v in annotations.items() if isinstance(v, str)},
        labels={
            k: v for k, v in mapping(at(document, "metadata.labels")).items() if isinstance(v, str)
        },
    )


def _intent(
    annotations: Mapping[str, Any],
    groups: tuple[PodGroup, ...],
    raw_groups: Iterable[RawGroup],
    catalogue: Callable[[], Catalogue],
) -> Intent:
    """Read only where GPUs are asked for: most workloads of a program ask for none."""
    if not any(group.gpu_resources for group in groups):
        return Intent()
    variables = {
        name: value
        for raw in raw_groups
        for container in items(mapping(raw.spec).get("containers"))
        for name, value in _environment(container)
    }
    return intents.intent(annotations, groups, variables, catalogue)


def _annotations(document: dict[str, Any], groups: Iterable[RawGroup]) -> dict[str, Any]:
    """Annotations of the object over those of its pod templates."""
    merged: dict[str, Any] = {}
    for group in groups:
        merged.update(mapping(at(group.metadata, "annotations")))
    merged.update(mapping(at(document, "metadata.annotations")))
    return merged


def _environment(container: Any) -> Iterable[tuple[str, str]]:
    for variable in items(mapping(container).get("env")):
        name, value = at(variable, "name"), at(variable, "value")
        if isinstance(name, str) and isinstance(value, str):
            yield name, value


def _deadline(document: dict[str, Any], kind: Kind) -> Fact[int]:
    for place in kind.deadlines:
        found = fact(at(document, place), whole, place)
        if not found.is_absent:
            return found
    return absent(kind.deadlines[0]) if kind.deadlines else unknown("deadline")


def _group(raw: RawGroup) -> PodGroup:
    spec = mapping(raw.spec)
    containers = [
        *_containers(spec.get("initContainers"), f"{raw.place}.initContainers", init=True),
        *_containers(spec.get("containers"), f"{raw.place}.containers", init=False),
    ]
    return PodGroup(
        name=raw.name,
        place=raw.place,
        pods=raw.pods,
        containers=tuple(containers),
        node_labels=_node_labels(spec),
    )


def _containers(value: Any, place: str, *, init: bool) -> Iterable[Container]:
    for index, raw in enumerate(items(value)):
        where = f"{place}[{index}]"
        if not isinstance(raw, dict):
            yield _unread(where, init=init)
            continue
        resources = raw.get("resources")
        requests, limits = at(resources, "requests"), at(resources, "limits")
        yield Container(
            name=str(raw.get("name") or index),
            place=where,
            init=init,
            restartable=init and raw.get("restartPolicy") == "Always",
            image=fact(raw.get("image"), text, f"{where}.image"),
            command=fact(raw.get("command"), words, f"{where}.command"),
            arguments=fact(raw.get("args"), words, f"{where}.args"),
            requests=_amounts(requests, f"{where}.resources.requests"),
            limits=_amounts(limits, f"{where}.resources.limits"),
            resources_known=UNKNOWN not in (requests, limits),
        )


def _unread(place: str, *, init: bool) -> Container:
    nothing: Fact[Any] = unknown(place)
    return Container("?", place, init, False, nothing, nothing, nothing, {}, {}, False)


def _amounts(value: Any, place: str) -> dict[str, Fact[Amount]]:
    return {
        name: fact(quantity, amount, f"{place}[{name}]")
        for name, quantity in mapping(value).items()
        # `nvidia.com/gpu: null` is how people remove a key they inherit: absent.
        if quantity is not None
    }


def _node_labels(spec: dict[str, Any]) -> dict[str, frozenset[str]]:
    """Labels a node must carry, as far as a map of allowed values can say it."""
    required = {
        key: frozenset({value})
        for key, value in mapping(spec.get("nodeSelector")).items()
        if isinstance(value, str)
    }
    place = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    terms = items(at(spec, place))
    if len(terms) != 1:
        return required  # several terms are alternatives: none of them alone is required
    for expression in items(mapping(terms[0]).get("matchExpressions")):
        key, values = at(expression, "key"), words(at(expression, "values"))
        if at(expression, "operator") == "In" and isinstance(key, str) and values is not None:
            allowed = frozenset(values)
            required[key] = required.get(key, allowed) & allowed
    return required
