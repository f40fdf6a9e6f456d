"""Performance of model replicas on a kind of device, and the number that a target needs."""

from dataclasses import replace
from functools import lru_cache
from math import ceil, inf

from gpufleet.findings import has_errors
from gpufleet.models.architecture import Architecture
from gpufleet.models.inference import Serving, serving_ledger
from gpufleet.models.ledger import GIB
from gpufleet.models.parallel import Parallelism, check_parallelism
from gpufleet_planner.planning.need import Assurance, WorkloadNeed
from gpufleet_planner.planning.option import Miss, Reached
from gpufleet_planner.sizing.cache_capacity import capacity, not_known, started_sequences
from gpufleet_planner.sizing.communication import has_nvlink
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.serving_rates import PERCENTILE, ServingSpeed, serving_replica
from gpufleet_planner.sizing.throughput import (
    check_capability,
    embedding_ledger,
    embedding_speed,
    kind_of,
    spread_of,
)


def splits(need: WorkloadNeed, device: Device, most: int) -> tuple[Parallelism, ...]:
    """Ways to spread one replica over whole GPUs of one machine, fewest first.

    Tensor groups, timed over PCIe where boards have no NVLink; those boards also get pipeline
    stages. A replica never leaves its machine.
    """
    if need.parallel is not None:
        return (need.parallel,)
    linked = has_nvlink(device.gpu, device.board)
    return _splits(need.model, min(most, need.allowed.most_gpus), linked=linked)


@lru_cache(maxsize=1024)
def _splits(model: Architecture, most: int, *, linked: bool) -> tuple[Parallelism, ...]:
    found: list[Parallelism] = []
    for gpus in (1, 2, 4, 8, 16):
        if gpus > most:
            break
        options = [Parallelism(tensor=gpus)]
        if not linked and gpus > 1:
            options.append(Parallelism(pipeline=gpus))
        found += [one for one in options if not has_errors(check_parallelism(model, one))]
    return tuple(found)


def fitting_format(need: WorkloadNeed, device: Device) -> tuple[Serving, ...] | Miss:
    """The allowed formats the GPU can run: 16 bit is BF16, and FP16 only where BF16 is not."""
    runnable = [
        serving
        for serving in need.serving
        if not has_errors(check_capability(device, serving.weights))
    ]
    names = [serving.weights.name for serving in runnable]
    if "bf16" in names and len(need.serving) == 2 and {"bf16", "fp16"} == set(names):
        runnable = [serving for serving in runnable if serving.weights.name == "bf16"]
    if not runnable:
        first = check_capability(device, need.serving[0].weights)[0]
        return Miss("precision", first.message)
    return tuple(runnable)


@lru_cache(maxsize=4096)
def need_bytes(model: Architecture, serving: Serving, parallel: Parallelism) -> int:
    """Memory of a replica's fullest GPU with margin: minimum for one sequence of maximum length."""
    if not model.causal:
        return embedding_ledger(model, serving, parallel).planning_bytes
    return serving_ledger(model, replace(serving, batch=1), parallel).planning_bytes


def serve(
    need: WorkloadNeed, serving: Serving, device: Device, parallel: Parallelism
) -> Reached | Miss:
    """Replicas that meet the target on such devices, or which limit breaks and by how much."""
    least = need_bytes(need.model, serving, parallel)
    if least > device.usable_bytes:
        return Miss(
            "memory",
            f"{least / GIB:.1f} GiB are needed on each GPU, and {device.label} has "
            f"{device.usable_bytes / GIB:.1f} GiB usable",
        )
    if not need.model.causal:
        return _embed(need, serving, device, parallel, least)
    if (unknown := not_known(need.model, serving.engine)) is not None:
        return Miss("not-known", f"whether {serving.engine} starts is not known: {unknown}")
    worst = need.confidence is Assurance.WORST
    cache = capacity(need.model, serving, device.usable_bytes, parallel, worst=worst)
    room = cache.sequences
    if room < 1:
        return Miss(
            "memory",
            f"{device.label} leaves no room for one sequence of {serving.context} tokens",
        )
    target = need.target
    asked = target.output_rate(serving.output_tokens or max(serving.context // 2, 1))
    most = min(room, started_sequences(serving, cache))
    if asked is None:
        most = min(most, serving.batch)
    found = _largest(need, serving, device, parallel, most)
    if isinstance(found, Miss):
        return found
    batch, speed = found
    copies = max(need.allowed.replicas, ceil(serving.batch / batch))
    lowest, highest = speed.tokens_per_second_range
    copies = _copies(need, copies, parallel.serving_gpus, asked, (speed.tokens_per_second, lowest))
    if isinstance(copies, Miss):
        return copies
    # What each replica holds at once when the load is spread.
    held = batch if asked is not None else min(batch, ceil(serving.batch / copies))
    full = serving_ledger(need.model, replace(serving, batch=held), parallel)
    return Reached(
        copies=copies,
        gpus_each=parallel.serving_gpus,
        parallel=parallel,
        precision=serving.weights.name,
        need_bytes=least if full.planning_bytes > device.usable_bytes else full.planning_bytes,
        usable_bytes=device.usable_bytes,
        batch=batch,
        first_token_seconds=speed.loaded_first_token_seconds,
        token_seconds=speed.loaded_token_seconds,
        token_seconds_range=speed.loaded_token_seconds_range,
        tokens_per_second=speed.tokens_per_second * copies,
        tokens_per_second_range=(lowest * copies, highest * copies),
        range_note=speed.range_note,
        asked_tokens_per_second=asked,
        binding=speed.binding,
        basis=speed.basis,
    )


def _largest(
    need: WorkloadNeed, serving: Serving, device: Device, parallel: Parallelism, most: int
) -> tuple[int, ServingSpeed] | Miss:
    """The largest batch up to `most` that keeps time per token and time to the first token while it
    is served, and its speed. Neither falls with the batch, so the interval can be halved."""
    replica = serving_replica(need.model, serving, device, parallel)
    if replica is None:
        if not serving.graphs:
            return Miss("no-graphs", "the speed without CUDA graphs is not known")
        return Miss("speed-unknown", f"the rates of {device.gpu.key} are not sourced")
    target, worst = need.target, need.confidence is Assurance.WORST

    def first_ms(batch: int) -> float:
        """Of requests that arrive at random."""
        return 1000 * replica.loaded_first_token_seconds(batch, PERCENTILE)

    def token_ms(batch: int) -> float:
        """With which a target is kept."""
        if worst:
            return 1000 * replica.loaded_token_range(batch)[1]
        return 1000 * replica.loaded_token_seconds(batch)

    limit, limit_first = target.token_ms or inf, target.first_token_ms or inf
    if (first := first_ms(1)) > limit_first:
        text = f"first token after {first:.0f} ms even of one request, {limit_first:g} ms allowed"
        return Miss("first-token", text, first)
    if (token := token_ms(1)) > limit:
        upto = "up to " if worst else ""
        text = f"{upto}{token:.1f} ms per token even for one sequence, {limit:g} ms allowed"
        return Miss("token", text, token)

    def kept(batch: int) -> bool:
        return (limit == inf or token_ms(batch) <= limit) and (
            limit_first == inf or first_ms(batch) <= limit_first
        )

    if kept(most):
        return most, replica.speed(most, together=False)
    low, high = 1, most
    while high - low > max(low // 32, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low, replica.speed(low, together=False)


def _copies(
    need: WorkloadNeed, least: int, gpus: int, asked: float | None, rates: tuple[float, float]
) -> int | Miss:
    """Copies of `gpus` GPUs that reach the target. `rates`: of one copy, expected and minimum."""
    rate = rates[0] if need.confidence is Assurance.EXPECTED else rates[1]
    copies = least if asked is None else max(least, ceil(asked / rate))
    if copies * gpus <= need.allowed.most_gpus:
        return copies
    text = f"{copies} replicas of {gpus} GPUs are more than {need.allowed.most_gpus}"
    return Miss("gpus", text, float(copies * gpus))


def _embed(
    need: WorkloadNeed, serving: Serving, device: Device, parallel: Parallelism, least: int
) -> Reached | Miss:
    speed = embedding_speed(need.model, serving, device, parallel)
    if speed is None:
        return Miss("speed-unknown", f"the rates of {device.gpu.key} are not sourced")
    asked, gpus = need.target.input_tokens_per_second, parallel.serving_gpus
    # No load test of embeddings is known: the spread of generation is assumed.
    spread = spread_of(kind_of(need.model, serving.engine, serving.weights))
    lowest, highest = (speed.tokens_per_second / part for part in (spread.most, spread.least))
    copies = _copies(need, need.allowed.replicas, gpus, asked, (speed.tokens_per_second, lowest))
    if isinstance(copies, Miss):
        return copies
    return Reached(
        copies=copies,
        gpus_each=parallel.serving_gpus,
        parallel=parallel,
        precision=serving.weights.name,
        need_bytes=least,
        usable_bytes=device.usable_bytes,
        batch=serving.batch,
        first_token_seconds=speed.batch_seconds,
        tokens_per_second=speed.tokens_per_second * copies,
        tokens_per_second_range=(lowest * copies, highest * copies),
        range_note=spread.note,
        asked_tokens_per_second=asked,
        binding="compute",
        basis=speed.basis,
    )
