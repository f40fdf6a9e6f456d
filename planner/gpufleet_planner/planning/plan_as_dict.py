"""A plan as plain data: what `gpufleet plan --format json` prints."""

from collections.abc import Mapping
from typing import Any

from gpufleet_planner.planning.as_dict import option_as_dict, rejected_as_list
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.planning.spec_text import derivation, separates


def plan_as_dict(plan: PlannedFleet, hints: Mapping[str, Any]) -> dict[str, Any]:
    """Spec, pools with their derivation, workloads with option, runner-up and why others lost."""
    spent, bound = plan.usd_per_hour, plan.bound_usd_per_hour
    return {
        "spec": plan.spec,
        "cost": {
            "usdPerHour": None if spent is None else f"{spent:.6f}",
            "lowerBoundUsdPerHour": None if bound is None else f"{bound:.6f}",
            "gap": None if not spent or not bound else round(float((spent - bound) / bound), 6),
            "gpuHoursPerHour": plan.gpu_hours,
        },
        "confidence": {
            "chosen": plan.confidence.value,
            **{fleet.confidence.value: fleet.as_dict() for fleet in plan.fleets},
            "separates": separates(plan),
        },
        "pools": [
            {
                "name": name,
                "machine": pool.key.machine.name,
                "nodes": pool.nodes,
                "sharing": pool.key.sharing,
                "workloads": [member for member, _ in pool.members],
                "spareGpus": round(float(pool.spare_gpus), 6),
                "derivation": list(derivation(pool, plan.on(name))),
            }
            for name, pool in plan.pools
        ],
        "workloads": [
            {
                "name": work.entry.name,
                "path": work.path,
                "pool": work.pools[0],
                "pools": list(work.pools),
                "option": option_as_dict(work.option),
                "runnerUp": None if work.runner_up is None else work.runner_up.label,
                "autoscaling": hints.get(work.entry.name),
                "rejected": rejected_as_list(work.choice),
            }
            for work in plan.workloads
        ],
    }
