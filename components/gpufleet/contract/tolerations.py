"""Which taints the nodes have, and whether what must run there tolerates them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from gpufleet.contract.facts import ClusterFacts, Fact, PoolFacts, chain
from gpufleet.contract.operator_values import VALUES, raw
from gpufleet.findings import Finding, error, warning
from gpufleet.spec.base import Ownership, Platform

GPU_KEY = "nvidia.com/gpu"
WHERE = ("daemonsets.tolerations", "node-feature-discovery.worker.tolerations")
"""Lists of the GPU Operator chart v26.7.0: its operands, and the worker that finds GPU nodes."""


@dataclass(frozen=True, slots=True, order=True)
class Toleration:
    """A toleration in Kubernetes' words: of a key with any value."""

    key: str
    effect: str

    def as_dict(self) -> dict[str, str]:
        """As manifests and Helm values write it."""
        return {"key": self.key, "operator": "Exists", "effect": self.effect}


GPU_TOLERATION = Toleration(GPU_KEY, "NoSchedule")
"""What every list of `WHERE` has by itself."""


def needed(taints: Iterable[tuple[str, str, str]]) -> tuple[Toleration, ...]:
    """What the operands must tolerate beside the GPU taint, so that they run on these nodes.

    PreferNoSchedule keeps nobody away for good.
    """
    wanted = {Toleration(key, effect) for key, _, effect in taints if effect != "PreferNoSchedule"}
    return tuple(sorted(wanted - {GPU_TOLERATION}))


def judge_tolerations(cluster: ClusterFacts) -> list[Finding]:
    """Findings about taints nobody is sure to have, and taints that keep the operands away."""
    findings: list[Finding] = []
    for pool in cluster.pools:
        findings += _gke_taint(pool)
    operator = cluster.spec.addons.gpu_operator
    if operator.enabled is False:
        return findings
    for pool in cluster.operated:
        wanted = needed(pool.taints)
        if not wanted:
            continue
        if operator.ownership is Ownership.EXISTING and raw(operator.values, WHERE[0]) is None:
            findings.append(_unknown(pool, wanted))
            continue
        for where in WHERE:
            given = raw(operator.values, where)
            if isinstance(given, Sequence) and not isinstance(given, str):
                missing = [
                    one for one in wanted if not _covered(one, cast("Sequence[object]", given))
                ]
                if missing:
                    findings.append(_kept_away(pool, where, missing))
    return findings


def _covered(wanted: Toleration, given: Sequence[object]) -> bool:
    """Whether a written list tolerates it, whatever the taint's value."""
    for one in given:
        if not isinstance(one, Mapping):
            continue
        said = cast("Mapping[str, object]", one)
        key, effect = said.get("key"), said.get("effect")
        if said.get("operator") == "Exists" and (
            key in {None, "", wanted.key} and effect in {None, "", wanted.effect}
        ):
            return True
    return False


def _kept_away(pool: PoolFacts, where: str, missing: Sequence[Toleration]) -> Finding:
    shown = ", ".join(f"{one.key}:{one.effect}" for one in missing)
    worker = where.startswith("node-feature")
    return error(
        "operands-do-not-tolerate",
        f"{VALUES}.{where}",
        f"nodes of {pool.name} are tainted {shown}, and "
        + ("the worker that finds GPU nodes" if worker else "the operator's operands")
        + " would not run there",
        "add the tolerations, or leave the list out: gpufleet then writes what the pools need",
        missing=[one.as_dict() for one in missing],
        facts=chain(
            Fact(f"{pool.name} is tainted {shown}", f"{pool.path}.taints"),
            Fact("this list replaces the one gpufleet writes", f"{VALUES}.{where}"),
            Fact(
                "a DaemonSet makes no pod for a node whose taints it does not tolerate: no event, "
                "no error, no GPU",
                "NVIDIA/k8s-device-plugin#1934",
            ),
        ),
    )


def _unknown(pool: PoolFacts, wanted: Sequence[Toleration]) -> Finding:
    shown = ", ".join(f"{one.key}:{one.effect}" for one in wanted)
    return warning(
        "operands-may-not-tolerate",
        f"{pool.path}.taints",
        f"the GPU Operator that is already there must tolerate {shown}, or {pool.name} never "
        "advertises a GPU",
        f"say what it tolerates in {VALUES}.{WHERE[0]}, and see to it",
        tolerations=[one.as_dict() for one in wanted],
        facts=chain(
            Fact(f"{pool.name} is tainted {shown}", f"{pool.path}.taints"),
            Fact("somebody else configures the operator", "addons.gpuOperator.ownership"),
            Fact(f"by default its operands tolerate {GPU_KEY} only", "gpu-operator chart v26.7.0"),
        ),
    )


def _gke_taint(pool: PoolFacts) -> Iterable[Finding]:
    """GKE taints GPU nodes only when a pool without GPUs was there before."""
    declared = any(key == GPU_KEY for key, _, _ in pool.taints)
    if pool.platform is not Platform.GKE or (declared and not pool.existing):
        return
    facts = chain(
        Fact(
            f"{pool.name} was made by somebody else"
            if pool.existing
            else "the pool does not declare the GPU taint",
            f"{pool.path}.{'ownership' if pool.existing else 'gpuTaint'}",
        ),
        Fact(
            "GKE adds nvidia.com/gpu=present:NoSchedule only if a pool without GPUs exists when "
            "the GPU pool is made, and never afterwards",
            "Google Kubernetes Engine documentation, GPUs in Standard node pools",
        ),
        Fact(
            "with the default pool removed in the same run, it depends on which call comes first",
            "terraform-google-modules/terraform-google-kubernetes-engine#703",
        ),
    )
    if pool.existing:
        yield warning(
            "gke-taint-depends-on-order",
            f"{pool.path}.ownership",
            f"nodes of {pool.name} may lack the taint nvidia.com/gpu=present:NoSchedule, and "
            "then fill up with pods that need no GPU",
            "look at the node pool's taints, and set the taint there",
            facts=facts,
        )
    else:
        yield error(
            "gke-taint-depends-on-order",
            f"{pool.path}.gpuTaint",
            f"whether nodes of {pool.name} get the GPU taint would depend on the order in which "
            "node pools are made",
            "remove the line: the taint is then declared, and always there",
            facts=facts,
        )
