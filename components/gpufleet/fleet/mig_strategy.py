"""The cluster's one MIG strategy, decided from all pools."""

from collections.abc import Sequence

from gpufleet.contract.programs.strategy_env import allows_mps
from gpufleet.findings import Finding, error
from gpufleet.fleet.draft import PoolDraft


def decide_mig_strategy(drafts: Sequence[PoolDraft]) -> tuple[str, list[Finding]]:
    """One strategy for the cluster: the operator's setting overrides any per-node one."""
    by_strategy: dict[str, list[str]] = {}
    for draft in drafts:
        for strategy in dict.fromkeys(partition.strategy for partition in draft.partitions):
            if strategy != "none" and draft.operated:
                by_strategy.setdefault(strategy, []).append(draft.spec.name)
    if len(by_strategy) > 1:
        single, mixed = by_strategy["single"], by_strategy["mixed"]
        path = next(d.path for d in drafts if d.spec.name == single[0])
        return "mixed", [
            error(
                "mig-strategy-conflict",
                f"{path}.sharing.mig.strategy",
                f"{', '.join(single)} wants single and {', '.join(mixed)} wants mixed; the GPU "
                "Operator has one MIG strategy for the whole cluster",
                f"write `strategy: mixed` on {', '.join(single)}, and let its pods ask for "
                "nvidia.com/mig-<profile>",
                single=single,
                mixed=mixed,
            )
        ]
    strategy = next(iter(by_strategy), "none")
    if allows_mps(strategy):
        return strategy, []
    return strategy, _mps_alongside_mixed(drafts, by_strategy[strategy])


def _mps_alongside_mixed(drafts: Sequence[PoolDraft], mixed: Sequence[str]) -> list[Finding]:
    """The device plugin refuses MPS while its strategy is mixed, MIG on the node or not."""
    return [
        error(
            "mps-beside-mixed-mig",
            f"{draft.path}.sharing.mps",
            f"{', '.join(mixed)} needs the MIG strategy mixed, which holds for the whole cluster, "
            "and the device plugin refuses MPS under it",
            "write `strategy: single` there, or timeSlicing here",
            mixed=list(mixed),
        )
        for draft in drafts
        if any(p.mode == "mps" for p in draft.partitions) and draft.operated
    ]
