"""A choice as plain data: what `gpufleet size --format json` prints under `choices`.

Keys are camelCase; money is US dollars, memory integer bytes, times are seconds.
"""

from typing import Any

from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.option import Option, usd


def choices_as_list(choice: ServingChoice, most: int | None = None) -> list[dict[str, Any]]:
    """Every option, best first, with why it is not the first; `most` cuts dominated ones."""
    front = set(map(id, choice.front))
    found: list[dict[str, Any]] = []
    for number, option in enumerate(choice.options):
        if most is not None and number >= most and id(option) not in front:
            continue
        row = option_as_dict(option)
        row["pareto"] = id(option) in front
        row["why"] = choice.lost_to_best(option)
        found.append(row)
    return found


def rejected_as_list(choice: ServingChoice) -> list[dict[str, Any]]:
    """Everything that does not work, with the limit it breaks."""
    return [
        {
            "what": lost.what,
            "gpu": lost.gpu,
            "code": lost.miss.code,
            "reason": lost.miss.reason,
            "figure": lost.miss.figure,
        }
        for lost in choice.rejected
    ]


def option_as_dict(option: Option) -> dict[str, Any]:
    """One option with its figures, each group with how well it is known."""
    reached, machine = option.reached, option.machine
    split = reached.parallel
    million = option.usd_per_million_tokens
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
        "parallelism": {
            "tensor": split.tensor,
            "pipeline": split.pipeline,
            "data": split.data,
            "sharding": split.sharding.value,
        },
        "training": None
        if reached.training is None
        else {
            "checkpointing": reached.training.checkpointing.value,
            "loss": reached.training.loss.value,
            "accumulation": reached.training.accumulation,
        },
        "machine": {
            "name": machine.name,
            "platform": machine.platform,
            "region": machine.region,
            "gpus": machine.gpus,
            "nodes": option.machines,
            "fabric": option.fabric,
        },
        "buy": machine.buy,
        "memory": {
            "needBytes": reached.need_bytes,
            "usableBytes": reached.usable_bytes,
            "basis": option.share.memory_basis.value,
        },
        "speed": {
            "batch": reached.batch,
            "firstTokenSeconds": reached.first_token_seconds,
            "togetherFirstTokenSeconds": reached.together_first_token_seconds,
            "tokenSeconds": reached.token_seconds,
            "tokenSecondsRange": reached.token_seconds_range,
            "tokensPerSecondRange": reached.tokens_per_second_range,
            "rangeNote": reached.range_note,
            "tokensPerSecond": reached.tokens_per_second,
            "askedTokensPerSecond": reached.asked_tokens_per_second,
            "runHours": reached.run_hours,
            "goodput": reached.goodput,
            "binding": reached.binding,
            "basis": reached.basis.value,
        },
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
