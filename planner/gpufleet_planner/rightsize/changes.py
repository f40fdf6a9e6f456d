"""Proposals as files: pools of the FleetSpec, and patches of the workloads."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, cast

from gpufleet.findings import Finding, has_errors, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.pod_request import pod_spec
from gpufleet_planner.planning.attempts import room
from gpufleet_planner.planning.pools import free_name, shared_by, slug
from gpufleet_planner.rightsize.advice import Advice, Conclusion, Proposal
from gpufleet_planner.sizing.device import DeviceShare

SCALABLE = {"Deployment": "apps/v1", "StatefulSet": "apps/v1"}
"""Kinds that can be patched while they exist: pods and jobs are made again by their author."""
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(
    r"(?!.{254})[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
"""Names of namespaces and of workloads (`apimachinery/pkg/util/validation`)."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The files to write; empty where a finding is an error."""

    spec: Mapping[str, Any] | None
    """The declaration with the new pools, as plain data."""
    objects: Mapping[str, Mapping[str, Any]]
    """File name -> patch of a workload."""
    findings: tuple[Finding, ...]


def changes(declared: Mapping[str, Any], advice: Iterable[Advice]) -> Changes:
    """The declaration with a pool for each kind of share that is proposed, and the patches that
    move the workloads. Pools that are there keep their size: they may shrink when the workloads
    have moved. Nothing is changed where the new declaration has an error.
    """
    answers = list(advice)
    moved = [one for one in answers if one.proposal is not None and _patchable(one)]
    pools = _new_pools(declared, moved)
    listed = cast("Sequence[Any]", declared.get("pools") or ())
    spec = {**declared, "pools": [*listed, *(data for data, _ in pools.values())]}
    compiled = compile_data(spec)
    if compiled.fleet is None or has_errors(compiled.findings):
        return Changes(None, {}, compiled.findings)
    objects: dict[str, Mapping[str, Any]] = {}
    for data, works in pools.values():
        for one in works:
            _add(objects, one, _patch(one, compiled.fleet.pool(data["name"])))
    for one in answers:
        if one.verdict is Conclusion.IDLE and _patchable(one):
            _add(objects, one, {**_head(one), "spec": {"replicas": 0}})
    return Changes(spec, objects, (*compiled.findings, *_left(answers)))


def _patchable(one: Advice) -> bool:
    """Whether a patch can name it: what Kubernetes does not allow as a name is not a name of a file
    either."""
    work = one.workload
    named = _LABEL.fullmatch(work.namespace) and _SUBDOMAIN.fullmatch(work.name)
    return work.kind in SCALABLE and named is not None


def _left(answers: Iterable[Advice]) -> Iterable[Finding]:
    for one in answers:
        acts = one.proposal is not None or one.verdict is Conclusion.IDLE
        if acts and not _patchable(one):
            scalable = one.workload.kind in SCALABLE
            yield warning(
                "rightsize-no-patch",
                f"{one.workload.namespace}/{one.workload.name}",
                "no patch is written: Kubernetes allows no such namespace or name"
                if scalable
                else f"no patch is written for a {one.workload.kind}: its pods cannot be changed",
                "check the samples' source" if scalable else "change the file that creates it",
                value=one.workload.kind,
            )


def _new_pools(
    declared: Mapping[str, Any], moved: Iterable[Advice]
) -> dict[tuple[str, str], tuple[dict[str, Any], list[Advice]]]:
    taken: set[str] = {
        pool.get("name") for pool in cast("Sequence[Any]", declared.get("pools") or ())
    }
    found: dict[tuple[str, str], tuple[dict[str, Any], list[Advice]]] = {}
    for one in moved:
        assert one.proposal is not None
        machine, share = one.proposal.machine, one.proposal.share
        key = (machine.name, share.resource_key)
        if key not in found:
            base = f"rightsized-{slug(machine.gpu.key)}-{slug(share.resource_key)}"
            name = free_name(base[:40].strip("-"), taken)
            data = {
                "name": name,
                "instanceTypes": [machine.name],
                "sharing": {"mig": {"layout": f"all-{share.profile}"}}
                if share.kind is DeviceShare.MIG
                else shared_by(share.kind, share.replicas),
            }
            found[key] = (data, [])
        found[key][1].append(one)
    for data, works in found.values():
        proposals = [cast("Proposal", one.proposal) for one in works]
        each, first = max(one.devices_each for one in proposals), proposals[0]
        most = ceil(sum(one.pods for one in proposals) / room(each, first.share, first.machine))
        data["nodes"] = {"min": 0, "max": most, "expected": most}
    return found


def _patch(one: Advice, pool: Pool) -> dict[str, Any]:
    """A strategic merge patch: the pool's fragment, and the resource it held before removed."""
    assert one.proposal is not None
    fragment = pod_spec(pool, pool.partition.shares[0])
    (container, *_) = fragment["containers"]
    limits: dict[str, Any] = dict.fromkeys(_held(one))
    limits |= {pool.partition.shares[0].resource: str(one.proposal.devices_each)}
    # Written as a request too, it would be a request without a limit, which no API server takes.
    resources = {"limits": limits, "requests": dict.fromkeys(_held(one))}
    container |= {"name": one.workload.uses[0].container or "main", "resources": resources}
    spec: dict[str, Any] = {"template": {"spec": {**fragment, "containers": [container]}}}
    if one.proposal.pods < one.workload.pods_at_once:
        spec["replicas"] = one.proposal.pods
    return {**_head(one), "spec": spec}


def _held(one: Advice) -> list[str]:
    profile = one.workload.uses[0].profile.replace("+", ".")
    return ["nvidia.com/gpu", *([f"nvidia.com/mig-{profile}"] if profile else [])]


def _head(one: Advice) -> dict[str, Any]:
    work = one.workload
    return {
        "apiVersion": SCALABLE[work.kind],
        "kind": work.kind,
        "metadata": {"name": work.name, "namespace": work.namespace},
    }


def _add(objects: dict[str, Mapping[str, Any]], one: Advice, data: Mapping[str, Any]) -> None:
    """Add a file; those of `a-b/c` and `a/b-c`, or of two kinds, get a number."""
    taken = {name.removesuffix(".yaml") for name in objects}
    name = free_name(f"{one.workload.namespace}-{one.workload.name}-patch", taken)
    objects[f"{name}.yaml"] = data
