"""A choice as plain data: what `gpufleet size --format json` prints under `choices`.

Keys are camelCase; money is US dollars, memory integer bytes, times are seconds.
"""

from typing import Any

from gpufleet.documents.plain_data import picked
from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.option import Option, usd


def choices_as_list(choice: ServingChoice) -> list[dict[str, Any]]:
    """Every option, best first, with why it is not the first."""
    front = set(map(id, choice.front))
    return [
        {
            **option_as_dict(option),
            "pareto": id(option) in front,
            "why": choice.lost_to_best(option),
        }
        for option in choice.options
    ]


def rejected_as_list(choice: ServingChoice) -> list[dict[str, Any]]:
    """Everything that does not work, with the limit it breaks."""
    return [
        {**picked(lost, "what", "gpu"), **picked(lost.miss, "code", "reason", "figure")}
        for lost in dict.fromkeys(choice.rejected)
    ]


def option_as_dict(option: Option) -> dict[str, Any]:
    """One option with its figures, each group with how well it is known."""
    reached, machine, million = option.reached, option.machine, option.usd_per_million_tokens
    training, split = reached.training, reached.parallel
    return {
        "label": option.label,
        "gpu": machine.gpu.key,
        "share": option.share.kind.value,
        "profile": option.share.profile,
        "replicasPerGpu": option.share.replicas,
        "precision": reached.precision,
        "copies": reached.copies,
        "gpusPerCopy": reached.gpus_each,
        "count": option.devices,
        "parallelism": picked(split, "tensor", "pipeline", "data", "sharding"),
        "training": training and picked(training, "checkpointing", "loss", "accumulation"),
        "machine": {
            **picked(machine, "name", "platform", "region", "gpus"),
            "nodes": option.machines,
            "fabric": option.fabric,
        },
        "buy": machine.buy,
        "memory": {
            **picked(reached, "need_bytes", "usable_bytes"),
            "basis": option.share.memory_basis.value,
        },
        "speed": picked(reached, *_SPEED),
        "cost": {
            "usdPerHour": usd(option.billed_micro_usd),
            "usdPerHourOfItsPart": usd(option.part_micro_usd),
            "usdPerMillionTokens": None if million is None else round(million, 6),
            "usdPerRun": None if option.usd_per_run is None else round(option.usd_per_run, 2),
            "gpuHoursPerHour": float(option.gpu_hours_per_hour),
            "basis": None if machine.micro_usd is None else machine.price_basis.value,
            "source": machine.price_source,
        },
        "notes": list(option.notes),
    }


_SPEED = (
    "batch",
    "first_token_seconds",
    "token_seconds",
    "token_seconds_range",
    "tokens_per_second_range",
    "range_note",
    "tokens_per_second",
    "asked_tokens_per_second",
    "run_hours",
    "goodput",
    "binding",
    "basis",
)
