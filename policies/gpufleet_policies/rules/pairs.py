"""Two objects of one cluster that do not work together, as rows of `rules.jsonl` describe them.

A row has `pairs`, of which the first match counts, or `each`. A pair has `at`, the reported object;
`with`, others that must exist; `without`, others that must not: mappings of paths to the required
values, perhaps of a field, `{"at": PATH, "default": ...}`, of the reported object, or as `one.PATH`
of the first of `with`. With `of`, a path through lists, it is asked for each value there, as `it`.
Texts name `{at}`, `{one}`, `{two}` and values of `say`. An unreadable value or `${A}` matches none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from gpufleet.cluster import UNKNOWN, Autoscaler, Container, PodGroup, WorkloadFacts
from gpufleet.cluster.fact import Fact, known, unknown
from gpufleet.cluster.node import ObservedNode
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.documents.paths import values_at
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.findings import Finding, Level, finding
from gpufleet.rules.context import RuleContext, once
from gpufleet.rules.rule import Rule
from gpufleet_policies.configurations.codes import RELATIONS
from gpufleet_policies.readers.raw_objects import RawObject, ReferencedObject
from gpufleet_policies.readers.reading import holds_unknown
from gpufleet_policies.rules.claimed import claim_of, gpus_at_once, gpus_of, with_pods
from gpufleet_policies.rules.gpu_requests import FRACTIONS
from gpufleet_policies.rules.model_memory import stored_weights
from gpufleet_policies.rules.pair_conditions import HOLDS
from gpufleet_policies.rules.placement import GPU_NAME_LABELS, has_mig, node_facts
from gpufleet_policies.rules.server_arguments import own_options
from gpufleet_policies.rules.servers import has_more
from gpufleet_policies.rules.written import rule_rows, written_rule

_MISSING = object()
_WHOLE = {"matches", "selected", "written", "unwritten"}
_SUBJECTS = {
    "Program": Program,
    "Container": WorkloadFacts,
    "Pods": WorkloadFacts,
    "Pool": NodePool,
    "Nodes": ObservedNode,
}
"""Names of subjects that are no objects: a chart, groups of pods or of machines, all nodes."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One thing that a pair may be of, and its fields by path."""

    subject: Any
    data: Mapping[str, Any]
    place: str = ""

    def at(self, path: str, default: Any = _MISSING) -> Any:
        here: Any = self.data
        for key in _steps(path):
            if here is UNKNOWN:
                return UNKNOWN
            here = here.get(key, _MISSING) if is_mapping(here) else _MISSING
            if here is None or here is _MISSING:
                removed = here is None and path.startswith("values.")  # Helm: not even the default
                hidden = not self.data["complete"] and path.startswith(("values", "metadata"))
                return UNKNOWN if hidden or removed else default
        return UNKNOWN if isinstance(here, str) and here.startswith("${") else here


@cache
def _steps(path: str) -> list[str]:
    return re.findall(r"(?<=\[)[^\]]+|[^.\[\]]+", path)


def _written(**facts: Fact[Any]) -> dict[str, Any]:
    """Facts as plain data."""
    read = {name: UNKNOWN if one.is_unknown else one.found for name, one in facts.items()}
    return {name: value for name, value in read.items() if value is not None}


@once
def _sides(context: RuleContext, subject: Any) -> tuple[tuple[str, _Side], ...]:
    """The mapping of a subject for pairs: made once, for all rows and clusters."""
    return _sides(context.run, subject) if context.run else tuple(_made(context, subject))


def _made(context: RuleContext, subject: Any) -> Iterator[tuple[str, _Side]]:
    if isinstance(subject, Program):
        release = subject.release
        if release.is_unknown and subject.name == "gpu-operator":
            release = _subscribed(context)
        values: Any = UNKNOWN if subject.values is None else subject.values
        data = {"name": subject.name, "values": values, "complete": subject.complete}
        data |= _written(release=release, namespace=subject.namespace)
        yield "Program", _Side(subject, data)
    elif isinstance(subject, WorkloadFacts):
        space = subject.locator.namespace or "default"
        for group in with_pods(context, subject).pod_groups:
            if group.pods.found != 0:
                data = _pods(context, subject, group)
                own = (subject.locator.kind, subject.locator.name, space)
                now = data.get("pods")
                data["lowest"], data["highest"] = _scaled(context).get(own, (now, now))
                yield "Pods", _Side(subject, data, group.place)
        for _, one in subject.gpu_containers:
            if not one.init:
                data = _container(one) | stored_weights(subject.intent, one, context.catalogue)
                data |= own_options(context, data) | {"namespace": space}
                yield "Container", _Side(subject, data, one.place)
    elif isinstance(subject, NodePool):
        data = _written(minimum=subject.size.standing, disk=subject.disk_gib, gpu=subject.gpu)
        data |= _written(image=subject.image, kubernetes=subject.kubernetes)
        mig = has_mig(context.catalogue, dict.fromkeys(GPU_NAME_LABELS, data.get("gpu")))
        data |= {"metadata": {"labels": subject.labels}, "complete": subject.labels_known}
        data |= {"maker": subject.maker, "mig": mig, "gpus": subject.is_gpu_pool.found}
        yield "Pool", _Side(subject, {**data, "name": subject.name})
    elif isinstance(subject, RawObject):
        metadata = {"namespace": "default", **mapping(subject.document.get("metadata"))}
        more = {"metadata": metadata, "complete": True, "file": subject.locator.file}
        document = {**subject.document, **more}
        if subject.locator.kind == "Node":
            document |= node_facts(context.catalogue, document)
        yield str(document.get("kind")), _Side(subject, document)


@once
def _subscribed(context: RuleContext) -> Fact[str]:
    """Release that a Subscription of the GPU Operator keeps: its updates wait for an approval."""
    for one in context.anywhere(ReferencedObject):
        spec = mapping(one.document.get("spec"))
        name, _, release = str(spec.get("startingCSV")).partition(".")
        if name == "gpu-operator-certified" and spec.get("installPlanApproval") == "Manual":
            return known(release)
    return unknown("release")


@once
def _scaled(context: RuleContext) -> Mapping[tuple[Any, ...], Any]:
    """Least and most pods of an autoscaler, by kind, name and namespace of what it scales."""
    found: dict[tuple[Any, ...], Any] = {}
    for it in context.anywhere(Autoscaler):
        key = (it.target_kind.found, it.target_name.found, it.locator.namespace or "default")
        found[key] = (it.scaling.minimum.found, it.scaling.maximum.found)
    return found


def _pods(context: RuleContext, workload: WorkloadFacts, group: PodGroup) -> dict[str, Any]:
    hidden: dict[str, Any] = dict.fromkeys(workload.hidden_keys, UNKNOWN)
    notes = {**hidden, **workload.annotations, **group.annotations}
    own = {"name": workload.locator.name, "namespace": workload.locator.namespace or "default"}
    metadata = {**own, "labels": {**hidden, **workload.labels, **group.labels}}
    gpus = gpus_of(group)
    ports = [name for one in group.containers for name in one.ports if not name.isdecimal()]
    numbers = [n for one in group.containers for n in one.ports.values() if n.isdecimal()]
    written = (item for c in group.containers for item in (*c.requests.items(), *c.limits.items()))
    wants = {name for name, one in written if "/" in name and one.found and one.found.number}
    return {
        **_written(pods=group.pods, together=group.together, nodeName=group.node_name),
        **_written(schedulerName=group.scheduler, runtimeClassName=group.runtime_class),
        **_written(priorityClassName=group.priority_class),
        "workload": workload.locator.kind,
        "group": workload.api_group,
        "containers": [one.name for one in group.containers if not one.init or one.restartable]
        if group.containers_known and all(one.name != "?" for one in group.containers)
        else UNKNOWN,
        "metadata": {**metadata, "annotations": notes},
        "podAnnotations": {**hidden, **group.annotations},
        "gpus": gpus_at_once(workload, group) or None,
        "rolled": (more := workload.surge.found) and sum(gpus) * ((group.pods.found or 1) + more),
        "wants": sorted(wants) or None,
        "file": workload.locator.file,
        "images": [one.image.found for one in group.containers if one.image.is_known],
        "volumes": list(group.volumes),
        "podLabels": {**hidden, **group.labels},
        "ports": UNKNOWN if any("$" in name for name in ports) or has_more(group) else ports,
        "numbers": UNKNOWN if has_more(group) else list(map(int, numbers)),
        "serviceLinks": group.service_links and workload.template_checked_on_creation,
        "runs": [
            f"{one.image.found} {one.words.found}"
            for one in group.containers
            if not one.init and "VLLM_PORT" not in one.variables
        ],
        "claims": [one.template.found or one.claim.found for one in group.claims] or None,
        "classes": [
            request.device_class.found
            for one in group.claims
            if (claim := claim_of(context.surroundings, workload, one)) is not None
            for request in claim.requests
            if request.device_class.is_known and not request.alternative
        ],
        "most": max(gpus, default=0),
        "hostIPC": group.host_ipc or None,
        "asks": bool(group.gpu_resources) or not notes.keys().isdisjoint(FRACTIONS),
        "chosen": group.node_labels or None,
        "placement": group.node_labels if group.node_labels_known else UNKNOWN,
        "tolerations": UNKNOWN if group.tolerations.is_unknown else group.tolerations.found or (),
        "complete": workload.metadata_known,
    }


def _container(one: Container) -> dict[str, Any]:
    """Image, its release where the tag is one, and the words that start it, each on a line."""
    tag = re.search(r":v?([0-9]+\.[0-9][^@]*)", one.image.found or "")
    written = _written(image=one.image, command=one.command, words=one.words)
    if isinstance(written.get("words"), tuple):
        written["words"] = "\n".join(written["words"])
    more = {"serves": one.launch.serves, "anonymous": one.anonymous, "variables": one.variables}
    paths = [path for path, port in one.probed if port in ("8000", *one.ports)] or None
    return {**written, "release": tag and tag[1], "probed": paths, "complete": True, **more}


@once
def _by_kind(context: RuleContext) -> Mapping[str, list[_Side]]:
    around = context.surroundings
    found: dict[str, list[_Side]] = {}
    for kind, side in chain.from_iterable(_sides(context, fact) for fact in around or ()):
        found.setdefault(kind, []).append(side)
    nodes = [fact for fact in around or () if isinstance(fact, ObservedNode)]
    if nodes:
        gpus = sum(sum(one.gpus.values()) for one in nodes)
        seen = [mapping(side.at("status.allocatable")) for side in found.get("Node", ())]
        offers = {name for one in seen for name in one if "/" in name and str(one[name]) != "0"}
        known = gpus if all(seen) else UNKNOWN  # of a Node without its status
        data = {"gpus": known, "offers": sorted(offers) or None, "complete": True}
        found["Nodes"] = [_Side(nodes[0], data)]
    return found


def _fits(side: _Side, wanted: Mapping[str, Any], at: _Side) -> bool | None:
    """Whether an object has all required values; None: one of them cannot be read."""
    unread = False
    for path, condition in wanted.items():
        if path == "kind":
            continue
        here = side.at(path)
        tests = condition if is_mapping(condition) else {"is": condition}
        if here is _MISSING and "default" in tests:
            here = tests["default"]
        parts = isinstance(here, dict | list)
        if here is UNKNOWN or (parts and tests.keys() & _WHOLE and holds_unknown([here])):
            unread = True
            continue
        for name, value in tests.items():
            if name in ("default", "missing"):
                held = name == "default" or (here is _MISSING) is value
            else:
                place = mapping(value)
                other = at.at(place["at"], place.get("default", _MISSING)) if place else value
                if other is _MISSING or holds_unknown([other]):
                    return False if other is _MISSING else None
                held = HOLDS[name](here, other) if here is not _MISSING else name == "not"
            if not held:
                return False
    return None if unread else True


_Fitting = list[tuple[_Side, bool]]
"""Sides that fit (True), and those of which it is not known."""


@once
def _candidates(
    context: RuleContext, wanted: Mapping[str, Any], far: bool
) -> tuple[list[_Side], dict[str, dict[Any, list[_Side]]], dict[str, _Fitting]]:
    """Objects that a row's mapping may match, whatever is reported; room for what is found."""
    alone = {p: one for p, one in wanted.items() if not any(map(is_mapping, mapping(one).values()))}
    sides = _by_kind(context.run or context if far else context).get(wanted["kind"], ())
    return [side for side in sides if _fits(side, alone, side) is not False], {}, {}


def _fitting(context: RuleContext, wanted: Mapping[str, Any], at: _Side, far: bool) -> _Fitting:
    sides, by_text, known = _candidates(context, wanted, far)
    compared = [
        (path, name, at.at(value["at"]))
        for path, tests in wanted.items()
        for name, value in mapping(tests).items()
        if "at" in mapping(value)
    ]
    key = repr([value for _, _, value in compared])
    if key not in known:
        fits = ((one, _fits(one, wanted, at)) for one in _narrowed(sides, by_text, compared))
        known[key] = [(one, fit is True) for one, fit in fits if fit is not False]
    return known[key]


def _narrowed(
    sides: list[_Side],
    by_text: dict[str, dict[Any, list[_Side]]],
    compared: Sequence[tuple[str, str, Any]],
) -> Iterable[_Side]:
    """The sides without those whose text differs from the reported object's request."""
    found: list[_Side] | None = None
    for path, name, value in compared:
        texts = {"is": [value], "in": items(value)}.get(name, [])
        value = mapping(value).get("matchLabels") if name == "selected" else value
        if name in ("chosen", "covers", "selected") and is_mapping(value) and value:
            label, allowed = next(iter(value.items()))
            path, texts = f"{path}[{label}]", sorted(allowed) if name == "chosen" else [allowed]
        if not texts or not all(isinstance(text, str) for text in texts):
            continue
        known, by_path = f"{name} {path}" in by_text, by_text.setdefault(f"{name} {path}", {})
        for side in () if known else sides:
            here = side.at(path)
            if name == "chosen" or here is not _MISSING:
                by_path.setdefault(here if isinstance(here, str) else None, []).append(side)
        same = [*chain.from_iterable(by_path.get(text, ()) for text in (*texts, None))]
        ids = set(map(id, same))
        found = same if found is None else [one for one in found if id(one) in ids]
    return sides if found is None else found


def _pair(row: Mapping[str, Any]) -> Rule:
    def check(context: RuleContext, subject: Any) -> Iterable[Finding]:
        return _by_row(context, subject).get(row["id"], ())

    check.__doc__ = row["detail"]
    subject = _SUBJECTS.get(row["pairs"][0]["at"]["kind"], (RawObject, ReferencedObject))
    return replace(written_rule(row["id"], subject)(check), found_by=_by_row, group=RELATIONS)


def _by_row(context: RuleContext, subject: Any) -> Mapping[str, list[Finding]]:
    """What the pairs of all rows find at one object, by row."""
    found: dict[str, list[Finding]] = {}
    idle = isinstance(subject, WorkloadFacts) and not (subject.uses_gpus or subject.uses_claims)
    pairs = _pairs_of(frozenset(_by_kind(context)), idle)
    for name, side in _sides(context, subject):
        for row, pair in pairs.get(name, ()):
            for at in _each(side, pair.get("of")):
                if row["id"] in found and not row.get("each"):
                    break
                if (others := _others(context, pair, at)) is not None:
                    found.setdefault(row["id"], []).append(_found(pair, at, others))
    return found


@lru_cache(maxsize=128)
def _pairs_of(
    kinds: frozenset[str], without_gpus: bool
) -> Mapping[str, list[tuple[Mapping[str, Any], Mapping[str, Any]]]]:
    """Rows and their pairs by the kind of the reported object, where their other kinds are."""
    found: dict[str, list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    for row in rule_rows().values():
        for pair in row.get("pairs", ()) if row.get("without_gpus") or not without_gpus else ():
            if {other["kind"] for other in pair.get("with", ())} <= kinds:
                found.setdefault(pair["at"]["kind"], []).append((row, pair))
    return found


def _each(side: _Side, path: str | None) -> Iterable[_Side]:
    if path is None:
        return (side,)
    return (replace(side, data={**side.data, "it": it}) for _, it in values_at(side.data, path))


def _others(context: RuleContext, pair: Mapping[str, Any], at: _Side) -> list[_Side] | None:
    """Objects found with the reported one; None where the pair does not hold."""
    if _fits(at, pair["at"], at) is not True:
        return None
    found: list[_Side] = []
    for wanted in pair.get("with", ()):
        fitting = _fitting(context, wanted, at, far=False)
        first = next((s for s, sure in fitting if sure and s.subject is not at.subject), None)
        if first is None:
            return None
        found.append(first)
        at = replace(at, data={**at.data, "one": found[0].data})
    taken = {(id(one.subject), one.place) for one in (at, *found)}
    unwanted = (_fitting(context, one, at, far=True) for one in pair.get("without", ()))
    others = (side for side, _ in chain.from_iterable(unwanted))
    return found if all((id(one.subject), one.place) in taken for one in others) else None


def _found(pair: Mapping[str, Any], at: _Side, others: list[_Side]) -> Finding:
    sides = dict(zip(("at", "one", "two"), (at, *others), strict=False))
    said = {name: one.subject.locator for name, one in sides.items()}
    for name, (side, path) in pair.get("say", {}).items():
        value = sides[side].at(path)
        said[name] = ", ".join(map(str, items(value))) if isinstance(value, list) else value
    where = pair["where"]
    if isinstance(at.subject, Program):
        where = at.subject.field(where) if where else ""
    elif at.place and not where.startswith("metadata"):
        where = f"{at.place}.{where}".strip(".")
    return finding(
        where,
        pair["found"].format(**said),
        pair.get("limit", ""),
        pair["fix"].format(**said),
        at_most=Level(pair.get("at_most", Level.MANDATORY)),
        evidence={name: said[name] for name in pair.get("say", ())},
    )


RULES = tuple(_pair(row) for row in rule_rows().values() if "pairs" in row)
"""The rules of pairs, in the order of their rows."""
