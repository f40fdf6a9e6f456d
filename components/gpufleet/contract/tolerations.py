"""Taints of the nodes, and whether the programs that must run there tolerate them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.pods import PodToleration
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.relation import (
    DEVICE_PLUGIN,
    DRA_DRIVER,
    GPU_OPERATOR,
    NIC_POLICY,
    Broken,
    place_of,
)
from gpufleet.findings import findings_in

_finding = findings_in(__file__)

GPU_KEY = "nvidia.com/gpu"
WHERE = ("daemonsets.tolerations", "node-feature-discovery.worker.tolerations")
"""Lists of the GPU Operator chart v26.7.0: its operands, and the worker that detects GPU nodes."""


GPU_TOLERATION = PodToleration(GPU_KEY, "Exists", "NoSchedule")
"""Tolerations that every list of `WHERE` has by default."""


def needed(taints: Iterable[tuple[str, str]]) -> tuple[PodToleration, ...]:
    """Tolerations that the operands need on these nodes, in addition to the GPU taint.

    PreferNoSchedule never keeps a pod away permanently.
    """
    hard = sorted({(key, effect) for key, effect in taints if effect != "PreferNoSchedule"})
    wanted = (PodToleration(key, "Exists", effect) for key, effect in hard)
    return tuple(one for one in wanted if one != GPU_TOLERATION)


_WORKER = "the worker that finds GPU nodes"


def _by(advertiser: str) -> Callable[[NodePool], bool]:
    return lambda pool: pool.advertiser.found == advertiser


_LISTS: tuple[tuple[str, str, str, Callable[[NodePool], bool]], ...] = (
    (GPU_OPERATOR, WHERE[0], "the operator's operands", lambda pool: pool.is_operated),
    (GPU_OPERATOR, WHERE[1], _WORKER, lambda pool: pool.is_operated),
    (DEVICE_PLUGIN, "tolerations", "the device plugin", _by("plugin")),
    (DEVICE_PLUGIN, "nfd.worker.tolerations", _WORKER, _by("plugin")),
    (NIC_POLICY, "tolerations", "NIC drivers", lambda pool: pool.fabric.found == "rdma"),
    (DRA_DRIVER, "kubeletPlugin.tolerations", "the DRA driver", _by("claims")),
)
"""Program, its list, the pods with these tolerations, and the pools where they must run."""


def validate_tolerations(cluster: ClusterModel) -> Iterator[Broken]:
    """Taints that keep the operands away."""
    for program in cluster.programs(GPU_OPERATOR):
        if program.hides(WHERE[0]):
            continue
        stated = isinstance(program.value(WHERE[0]), list) or program.complete
        if cluster.complete and not stated:
            wanting = [(pool, needed(_taints(pool))) for pool in cluster.operated]
            yield from (_unknown(pool, wanted) for pool, wanted in wanting if wanted)
    for name, key, who, runs in _LISTS:
        for program in cluster.programs(name):
            given = _given(program, key)
            if given is None:
                continue
            for pool in filter(runs, cluster.pools):
                missing = [one for one in needed(_taints(pool)) if not _covered(one, pool, given)]
                if missing:
                    yield _kept_away(pool, program, key, who, missing)


def _taints(pool: NodePool) -> Iterable[tuple[str, str]]:
    return ((one.key, one.effect) for one in pool.taints.found or ())


def _given(program: Program, key: str) -> Sequence[object] | None:
    """The list in force; None if it is not known, or does not exist."""
    found = program.value(key)
    if program.hides(key):
        return None
    if isinstance(found, list):
        return cast("list[object]", found)
    if found is not None or not program.complete or program.name != GPU_OPERATOR:
        return None
    if key == WHERE[1] and program.switch("nfd.enabled", True).found is not True:
        return None
    return [GPU_TOLERATION.as_dict()]


def _covered(wanted: PodToleration, pool: NodePool, given: Sequence[object]) -> bool:
    """Whether a list tolerates all taints of a key. Unreadable entries may."""
    own = [_toleration(cast("Mapping[str, Any]", one)) for one in given if isinstance(one, Mapping)]
    return len(own) < len(given) or all(
        any(one.covers(taint.key, taint.effect, taint.value) for one in own)
        for taint in pool.taints.found or ()
        if (taint.key, taint.effect) == (wanted.key, wanted.effect)
    )


def _toleration(said: Mapping[str, Any]) -> PodToleration:
    said = {"operator": "Equal", **{name: one for name, one in said.items() if one}}
    return PodToleration(*(said.get(name, "") for name in ("key", "operator", "effect", "value")))


def _kept_away(
    pool: NodePool, program: Program, key: str, who: str, missing: Sequence[PodToleration]
) -> Broken:
    shown = ", ".join(f"{one.key}:{one.effect}" for one in missing)
    written = program.written_at(key)
    own = ", or leave the list out: gpufleet then writes what the pools need" if written else ""
    finding = _finding(
        "operands-do-not-tolerate",
        program.field(key),
        fix=f"add the tolerations{own}",
        pool=pool.name,
        shown=shown,
        who=who,
        missing=[one.as_dict() for one in missing],
    )
    return Broken.of(
        finding,
        program,
        ContractFact(f"{pool.name} is tainted {shown}", place_of(pool, "taints", pool.name)),
        ContractFact("this list replaces the one gpufleet writes", written)
        if written
        else ContractFact(f"by default they tolerate {GPU_KEY} only", "gpu-operator chart"),
    )


def _unknown(pool: NodePool, wanted: Sequence[PodToleration]) -> Broken:
    shown = ", ".join(f"{one.key}:{one.effect}" for one in wanted)
    place, listed = place_of(pool, "taints"), [one.as_dict() for one in wanted]
    finding = _finding(
        "operands-may-not-tolerate", place, pool=pool.name, shown=shown, tolerations=listed
    )
    return Broken.of(finding, pool, ContractFact(f"{pool.name} is tainted {shown}", place))
