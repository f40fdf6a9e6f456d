"""A plan as a file to commit, with the derivation of every pool above it, and as plain data."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.documents.writing import commented, yaml_text
from gpufleet_planner.explanation.explain import explain_option, lines_as_text, texts
from gpufleet_planner.planning.choice import rejected_as_list
from gpufleet_planner.planning.layouts import FilledPool
from gpufleet_planner.planning.option import Option, option_as_dict, usd
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.planning.workloads import PlacedWorkload
from gpufleet_planner.sizing.training import settings_text


def spec_text(plan: PlannedFleet, *, explain: bool = False) -> str:
    """The file; the same plan gives the same bytes. Empty without a spec. `explain` adds every
    number's formula and source to the comments of each pool."""
    if plan.spec is None:
        return ""
    head = {key: value for key, value in plan.spec.items() if key != "pools"}
    before = ("catalogue", "platform", "environment", "cluster", "provisioner")
    text = commented("\n".join(_summary(plan)))
    text += yaml_text({key: head.pop(key) for key in before if key in head})
    text += "pools:\n"
    for (name, pool), data in zip(plan.pools, plan.spec["pools"], strict=True):
        members = plan.on(name)
        lines = "\n".join(derivation(pool, members))
        if explain:
            for work in members:
                numbers = lines_as_text(explain_option(work.need, work.option), "  ")
                lines += f"\n{work.entry.name}, every number:\n{numbers}"
        text += "".join(f"  {line}\n" for line in commented(lines).splitlines())
        text += "".join(f"  {line}\n" for line in yaml_text({"pools": [data]}).splitlines()[1:])
    return text + (yaml_text(head) if head else "")


def derivation(pool: FilledPool, members: list[PlacedWorkload]) -> Iterator[str]:
    """Why a pool is what it is: each workload's need, speed, price, and what it was chosen over."""
    for work in members:
        yield from _why(work)
    machine, zones = pool.key.machine, pool.key.zones
    first = zones if pool.joined and len(zones) > 1 else ()
    facts = {"pool": pool, "machine": machine, "zones": first, "all_zones": ", ".join(zones)}
    facts |= {"cut": 0 if pool.layout is None else pool.layout.gpus_cut}
    facts |= {"spare": float(pool.spare_gpus), "gpus": pool.nodes * machine.gpus}
    yield from texts("plan/pool", facts)


def _summary(plan: PlannedFleet) -> Iterator[str]:
    yield "Planned by `gpufleet plan`. Change the workloads and plan again rather than this file."
    yield cost_line(plan)
    if plan.fleets:
        both = "; ".join(fleet.text for fleet in plan.fleets)
        yield f"{both}. This is the {plan.confidence} one."
        yield from separates(plan)
    yield "Every figure is marked measured, modelled or assumed."


def separates(plan: PlannedFleet) -> list[str]:
    """The difference between the two fleets of a plan, and the measurement that decides it."""
    works = plan.workloads if plan.fleets else ()
    facts = ({"work": work, "need": work.need, "reached": work.option.reached} for work in works)
    return [text for one in facts for text in texts("plan/doubt", one)]


def cost_line(plan: PlannedFleet) -> str:
    """Cost of the plan with all its nodes, and its gap to the lower bound."""
    spent, bound = plan.usd_per_hour, plan.bound_usd_per_hour
    facts = {"spent": spent, "bound": bound, "gpus": plan.gpu_hours}
    facts["gap"] = 100 * (spent - bound) / bound if spent is not None and bound else 0
    return next(texts("plan/cost", facts | {"known": None not in (spent, bound)}))


def _why(work: PlacedWorkload) -> Iterator[str]:
    option, reached, model = work.option, work.option.reached, ""
    if work.need is not None:
        model = f" {work.need.model.name}, {work.entry.workload},"
    facts = {"work": work, "option": option, "reached": reached, "share": option.share}
    facts |= {"model": model, "part": usd(option.part_micro_usd)}
    facts["groups"] = f" ({', '.join(reached.groups)})" if reached.groups else ""
    job, split = reached.training, reached.parallel
    facts["settings"] = "" if job is None else settings_text(job, split)
    yield from texts("plan/workload", facts)
    for note in filter(None, (*option.notes, reached.range_note)):
        yield f"  {note}"
    other = work.runner_up
    if other is not None:
        yield f"  instead of {other.label}: {_against(other, option)}"


def _against(other: Option, chosen: Option) -> str:
    mine, theirs = usd(chosen.billed_micro_usd), usd(other.billed_micro_usd)
    if other.usd_per_run is not None and chosen.usd_per_run is not None:
        return f"{other.usd_per_run:,.2f} USD a run against {chosen.usd_per_run:,.2f}"
    if mine is None or theirs is None:
        return "no price is known"
    return f"{theirs:,.4f} USD/h alone against {mine:,.4f}"


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
