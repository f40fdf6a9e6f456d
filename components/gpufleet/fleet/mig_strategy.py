"""The cluster's single MIG strategy, decided from all pools."""

from collections.abc import Sequence

from gpufleet.contract.programs.strategy_env import allows_mps
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.draft import PoolDraft

_finding = findings_in(__file__)


def decide_mig_strategy(drafts: Sequence[PoolDraft]) -> tuple[str, list[Finding]]:
    """One strategy for the cluster: the operator's setting overrides any per-node setting."""
    by_strategy: dict[str, list[str]] = {}
    for draft in drafts:
        for strategy in dict.fromkeys(partition.strategy for partition in draft.partitions):
            if strategy != "none" and draft.operated:
                by_strategy.setdefault(strategy, []).append(draft.spec.name)
    if len(by_strategy) > 1:
        single, mixed = by_strategy["single"], by_strategy["mixed"]
        path = next(d.path for d in drafts if d.spec.name == single[0])
        return "mixed", [_finding("mig-strategy-conflict", path, single=single, mixed=mixed)]
    strategy = next(iter(by_strategy), "none")
    if allows_mps(strategy):
        return strategy, []
    return strategy, _mps_alongside_mixed(drafts, by_strategy[strategy])


def _mps_alongside_mixed(drafts: Sequence[PoolDraft], mixed: Sequence[str]) -> list[Finding]:
    """The device plugin refuses MPS under the strategy mixed, with or without MIG on the node."""
    return [
        _finding("mps-beside-mixed-mig", draft.path, mixed=mixed)
        for draft in drafts
        if any(p.mode == "mps" for p in draft.partitions) and draft.operated
    ]
