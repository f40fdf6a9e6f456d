"""Samples from Prometheus or VictoriaMetrics as node histories.

Two recorded series are enough: `gpu:node:pool` (a node of a pool existed) and `gpu:requested:count`
(number of units that a pod held on it). They are read from the answer of a range query, or from the
lines of `promtool tsdb dump`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan
from typing import Any, cast

from gpufleet.cost.cost import NodeHistory, PodHolding
from gpufleet.documents.limits import fault
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.unit_weights import sanitised, unit_capacity, unit_weights

_finding = findings_in(__file__)

NODE_SERIES = "gpu:node:pool"
HELD_SERIES = "gpu:requested:count"
REPLICA_SERIES = {
    "Deployment": ("kube_deployment_spec_replicas", "deployment"),
    "StatefulSet": ("kube_statefulset_replicas", "statefulset"),
}
"""Kind of a workload -> series of its requested replicas, and the label with its name
(kubernetes/kube-state-metrics v2)."""
QUERY = (
    f'{{__name__=~"{NODE_SERIES}|{HELD_SERIES}|'
    f'{"|".join(name for name, _ in REPLICA_SERIES.values())}"}}'
)
"""The range query whose answer is read."""

_LINE = re.compile(r"^\{(?P<labels>.*)\}\s+(?P<value>\S+)\s+(?P<time>-?[0-9]+)\s*$")
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"\s*,?')


_YEARS_1_TO_9999 = range(-62_135_596_800, 253_402_300_800)
"""Seconds since 1970 that a calendar has (Python, `datetime.MINYEAR` and `MAXYEAR`)."""


class UnreadableDumpError(ValueError):
    """The text is not a dump; the message has the expected and the actual content."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series with its samples, in order of time."""

    labels: Mapping[str, str]
    samples: tuple[tuple[int, float], ...]
    """Seconds since 1970 and value."""


def read_series(text: str) -> list[Series]:
    """The series of a dump. Raises UnreadableDumpError."""
    series = _series(text)
    for one in series:
        outside = [moment for moment, _ in one.samples if moment not in _YEARS_1_TO_9999]
        if outside:
            raise UnreadableDumpError(
                f"a sample of {one.labels.get('__name__', 'a series')} is at {outside[0]:.6g} "
                "seconds since 1970, outside the years 1 to 9999; Prometheus answers in seconds, "
                "and promtool writes milliseconds"
            )
    return series


def _series(text: str) -> list[Series]:
    stripped = text.removeprefix("\ufeff").lstrip()
    if not stripped:
        raise UnreadableDumpError("it is empty")
    first = stripped.splitlines()[0]
    if _LINE.match(first):
        return _from_lines(stripped.splitlines())
    try:
        return list(_from_answer(json.loads(stripped)))
    except json.JSONDecodeError as problem:
        raise UnreadableDumpError(
            "neither the JSON of a range query nor lines of `promtool tsdb dump`: "
            f"{problem.msg} in line {problem.lineno}"
        ) from None
    except (ValueError, RecursionError) as problem:
        raise UnreadableDumpError(f"it cannot be read: {fault(problem)}") from None


def histories(
    fleet: Fleet, series: Iterable[Series], step: int | None
) -> tuple[list[NodeHistory], list[Finding]]:
    """One history for each node and period in which it existed, and findings about unused series.

    A sample holds until the next of its series, at most one step; without `step` that is the
    smallest distance between two samples. Raises UnreadableDumpError if no series is usable.
    """
    known = list(series)
    nodes = united(known, NODE_SERIES, ("node", "pool"))
    held = united(known, HELD_SERIES, ("namespace", "pod", "node", "resource"))
    if not nodes:
        raise UnreadableDumpError(f"it has no series {NODE_SERIES}; ask for {QUERY}")
    length = step or smallest_step(known)
    findings: list[Finding] = []
    pools = {pool.name: pool for pool in fleet.pools}
    spelling = {
        pool.name: {sanitised(name): name for name in unit_capacity(pool)} for pool in fleet.pools
    }
    holdings: dict[str, list[PodHolding]] = {}
    for one in held:
        node = one.labels.get("node", "")
        for start, end, value in stretches(one.samples, length):
            if not value:
                continue
            holdings.setdefault(node, []).append(
                PodHolding(
                    one.labels.get("namespace", ""),
                    one.labels.get("pod", ""),
                    one.labels.get("resource", ""),
                    round(value),
                    start,
                    end,
                )
            )
    found: list[NodeHistory] = []
    for one in nodes:
        name, pool_name = one.labels.get("node", ""), one.labels.get("pool", "")
        pool = pools.get(pool_name)
        problem = _unusable(name, pool_name, pool)
        if problem is not None or pool is None:
            findings += [] if problem is None else [problem]
            continue
        # As nodes advertise the resource, not as kube-state-metrics writes it.
        spelt = spelling[pool_name]
        held_here = holdings.get(name, ())
        own = tuple(replace(h, resource=spelt.get(h.resource, h.resource)) for h in held_here)
        findings += _unknown_units(name, own, pool)
        live = ((s, e) for s, e, value in stretches(one.samples, length) if value)
        for start, end in merged(live):
            found.append(
                NodeHistory(
                    name,
                    pool_name,
                    start,
                    end,
                    cast("int", pool.hourly_micro_usd),
                    unit_capacity(pool),
                    unit_weights(pool),
                    own,
                )
            )
    return found, list(dict.fromkeys(findings))


def united(series: Iterable[Series], name: str, keys: tuple[str, ...]) -> list[Series]:
    """The series of a name, one for each node, holding or workload.

    Two servers that record the same, and answers for stretches of time that meet in one sample,
    tell of the same node and pod more than once: it is paid once.
    """
    found: dict[tuple[str, ...], dict[int, float]] = {}
    for one in series:
        if one.labels.get("__name__") == name:
            samples = found.setdefault(tuple(one.labels.get(key, "") for key in keys), {})
            for moment, value in one.samples:
                if not isnan(value):
                    samples[moment] = max(value, samples.get(moment, value))
    return [
        Series(dict(zip(keys, labels, strict=True)), tuple(sorted(samples.items())))
        for labels, samples in found.items()
    ]


def _unusable(node: str, pool_name: str, pool: Pool | None) -> Finding | None:
    if pool is None:
        return _finding("cost-pool-unknown", node, found=pool_name)
    if pool.hourly_micro_usd is None:
        return _finding("cost-pool-without-price", pool.path, pool=pool_name, node=node)
    return None


def _unknown_units(node: str, held: Iterable[PodHolding], pool: Pool) -> Iterator[Finding]:
    capacity = unit_capacity(pool)
    for resource in sorted({h.resource for h in held} - set(capacity)):
        known = sorted(capacity)
        yield _finding("cost-resource-unknown", node, found=resource, pool=pool.name, allowed=known)


def smallest_step(series: Iterable[Series]) -> int:
    """The smallest distance between two samples, in seconds. Raises UnreadableDumpError."""
    steps = [
        later - earlier
        for one in series
        for (earlier, _), (later, _) in pairwise(one.samples)
        if later > earlier
    ]
    if not steps:
        raise UnreadableDumpError(
            "no series has two samples, so their distance is unknown: give --step"
        )
    return min(steps)


def stretches(
    samples: tuple[tuple[int, float], ...], step: int
) -> Iterator[tuple[int, int, float]]:
    """Times with the value that held, none below 0: until the next sample, at most one step."""
    for index, (moment, value) in enumerate(samples):
        following = samples[index + 1][0] if index + 1 < len(samples) else moment + step
        end = min(moment + step, following)
        if 0 <= value < float("inf") and end > moment:
            yield moment, end, value


def merged(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Times, with adjacent and overlapping ones merged."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _from_answer(document: object) -> Iterator[Series]:
    answers = cast("list[object]", document) if isinstance(document, list) else [document]
    for answer in answers:
        body = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        data = body.get("data", body)
        results = cast("dict[str, Any]", data).get("result") if isinstance(data, dict) else None
        if body.get("status") == "error":
            raise UnreadableDumpError(f"the server answered an error: {body.get('error')}")
        if not isinstance(results, list):
            raise UnreadableDumpError("it has no `data.result`, as the answer of a range query has")
        for entry in cast("list[object]", results):
            if not isinstance(entry, dict):
                raise UnreadableDumpError("an entry of `data.result` is not a series")
            one = cast("dict[str, Any]", entry)
            if "values" not in one:
                raise UnreadableDumpError("it is the answer of an instant query; ask /query_range")
            try:
                samples = tuple(
                    sorted((int(float(moment)), float(value)) for moment, value in one["values"])
                )
                labels = {str(k): str(v) for k, v in one["metric"].items()}
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
                raise UnreadableDumpError(f"a series of it cannot be read: {problem}") from None
            yield Series(labels, samples)


def _from_lines(lines: Iterable[str]) -> list[Series]:
    found: dict[tuple[tuple[str, str], ...], list[tuple[int, float]]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _LINE.match(line)
        if match is None:
            raise UnreadableDumpError(f"line {number} is not a sample: {line[:60]!r}")
        labels = tuple(sorted((k, _unescaped(v)) for k, v in _LABEL.findall(match["labels"])))
        try:
            value = float(match["value"])
        except ValueError:
            raise UnreadableDumpError(f"line {number} has no number: {line[:60]!r}") from None
        found.setdefault(labels, []).append((int(match["time"]) // 1000, value))
    return [Series(dict(labels), tuple(sorted(samples))) for labels, samples in found.items()]


def _unescaped(value: str) -> str:
    return value.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
