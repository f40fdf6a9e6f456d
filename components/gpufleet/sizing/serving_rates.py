"""Speed of serving: time to first token, time per token, tokens per second, saturation."""

from dataclasses import dataclass
from functools import lru_cache

from gpufleet.sizing.architecture import Architecture, ExpertFeedForward
from gpufleet.sizing.cache_capacity import capacity
from gpufleet.sizing.communication import Link, forward_seconds, inside_node
from gpufleet.sizing.device import Device
from gpufleet.sizing.inference import Engine, Serving
from gpufleet.sizing.kv_cache import sequence_bytes
from gpufleet.sizing.ledger import Basis
from gpufleet.sizing.parallel import Parallelism
from gpufleet.sizing.parameters import count_parameters
from gpufleet.sizing.throughput import (
    Rate,
    attention_flops,
    decode_mbu,
    device_rate,
    prefill_mfu,
)
from gpufleet.sizing.weights import weight_bytes

EAGER_DECODE = 3.5
"""Transformers' eager decode is 3 to 4 times slower than an engine."""
DECODE_HEAVY = 1.3
"""Sampling, attention and scheduling that the model leaves out where outputs dominate."""


@dataclass(frozen=True, slots=True)
class ServingSpeed:
    """Speed of one replica. Seconds and tokens per second; every figure is modelled."""

    first_token_seconds: float
    """TTFT of one prompt on an idle replica; queueing comes on top."""
    token_seconds: float
    """TPOT: one decode step at the stated batch."""
    tokens_per_second: float
    """Output tokens at the stated batch, prefill of new prompts included."""
    saturated_tokens_per_second: float
    """Output tokens at the saturation batch."""
    saturation_sequences: int
    """Sequences at which more do not help: memory is full, or arithmetic binds."""
    binding: str
    """What binds a decode step at the stated batch: `bandwidth`, `compute` or `communication`."""
    mfu: float
    mbu: float
    basis: Basis
    """`modelled` where MFU and MBU were measured on this kind of work, else `assumed`."""
    peak_operations: float
    """Dense operations per second of each GPU or share."""
    bandwidth_bytes: float
    """Bytes per second of each GPU or share."""
    prompt_operations: float
    """Of one prompt's forward pass, over all GPUs."""
    prompt_moved_seconds: float
    """Communication of that pass."""
    step_read_bytes: float
    """Weights and cache each GPU reads for one decode step at the stated batch."""
    step_operations: float
    """Arithmetic of that step, over all GPUs of a stage."""
    step_moved_seconds: float
    """Communication of that step."""


@dataclass(frozen=True, slots=True)
class _Machine:
    """What the formulas need to know about one replica's hardware."""

    model: Architecture
    serving: Serving
    parallel: Parallelism
    rate: Rate
    link: Link
    mfu: float
    mbu: float


@lru_cache(maxsize=4096)
def weights_read(model: Architecture, serving: Serving, batch: int, parallel: Parallelism) -> float:
    """Bytes of weights one token's way through all stages reads on each rank: all of a dense model,
    and of a mixture the experts that the batch touches, at most min(E, B*k) of each layer."""
    stored = weight_bytes(model, serving.weights, serving.head_apart)
    experts = touched = 0
    for group in model.groups:
        block = group.feed_forward
        if isinstance(block, ExpertFeedForward):
            experts += group.count * block.experts
            touched += group.count * min(block.experts, batch * block.per_token)
    part = touched / experts if experts else 0.0
    # Embeddings are looked up, not read; a tied matrix is read once as the head.
    head = stored.head or stored.embeddings
    ranks = max(parallel.tensor, parallel.expert)
    dense = float(stored.layers) + float(head)
    return dense / parallel.tensor + float(stored.experts) * part / ranks


def _decode_work(machine: _Machine, batch: int) -> tuple[float, float]:
    """Bytes each rank reads and operations of one step.

    Pipeline stages work on different parts of the batch at the same time; a token still passes
    through all of them, so every stage's weights are read on its way.
    """
    model, serving, parallel = machine.model, machine.serving, machine.parallel
    tokens = serving.mean_tokens
    part = -(-batch // parallel.pipeline)
    cache = part * parallel.pipeline * sequence_bytes(model, serving.kv_cache, tokens, parallel)
    read = weights_read(model, serving, part, parallel) + cache
    work = part * (2 * count_parameters(model).active + attention_flops(model, tokens))
    return read, work


def _decode_parts(machine: _Machine, batch: int) -> tuple[float, float, float]:
    """Seconds of one step by what could bind it: bandwidth, compute, communication."""
    parallel = machine.parallel
    read, work = _decode_work(machine, batch)
    bandwidth = read / (machine.rate.bandwidth * machine.mbu)
    ranks = max(parallel.tensor, parallel.expert)
    compute = work / (ranks * machine.rate.peak * machine.mfu)
    part = -(-batch // parallel.pipeline)
    return bandwidth, compute, forward_seconds(machine.model, part, parallel, machine.link)


def _decode_seconds(machine: _Machine, batch: int) -> float:
    bandwidth, compute, moved = _decode_parts(machine, batch)
    slower = EAGER_DECODE if machine.serving.engine is Engine.TRANSFORMERS else 1.0
    return max(bandwidth, compute) * slower + moved


def _prefill_seconds(machine: _Machine, tokens: float, ranks: int) -> float:
    """Prefill of so many prompt tokens with so many GPUs at work at the same time."""
    work = _prefill_operations(machine, tokens)
    compute = work / (ranks * machine.rate.peak * machine.mfu)
    return compute + forward_seconds(machine.model, tokens, machine.parallel, machine.link)


def _prefill_operations(machine: _Machine, tokens: float) -> float:
    seen = mean_prompt(machine.serving) / 2  # causal: half of the others on average
    each = 2 * count_parameters(machine.model).active + attention_flops(machine.model, seen)
    return tokens * each


def mean_prompt(serving: Serving) -> int:
    """Tokens of a mean prompt; half of the context where nobody said."""
    if serving.prompt_tokens is not None:
        return serving.prompt_tokens
    return max(serving.context // 2, 1)


def _output(serving: Serving) -> int:
    if serving.output_tokens is not None:
        return max(serving.output_tokens, 1)
    return max(serving.context - mean_prompt(serving), 1)


def _output_rate(machine: _Machine, batch: int) -> float:
    """B / (step + B * (ISL/OSL) * prefill of one token)."""
    ratio = mean_prompt(machine.serving) / _output(machine.serving)
    step = _decode_seconds(machine, batch)
    latency_free = _prefill_seconds(machine, batch * ratio, machine.parallel.serving_gpus)
    rate = batch / (step + latency_free)
    return rate / DECODE_HEAVY if ratio < 1 else rate


def _saturation(machine: _Machine, room: int) -> int:
    """Batch beyond which arithmetic or memory gives no more: bandwidth time still falls per token
    while it exceeds compute time."""
    low, high = 1, max(room, 1)
    while low < high:
        middle = (low + high + 1) // 2
        bandwidth, compute, _ = _decode_parts(machine, middle)
        if bandwidth >= compute:
            low = middle
        else:
            high = middle - 1
    return low


def serving_speed(
    model: Architecture,
    serving: Serving,
    device: Device,
    parallel: Parallelism | None = None,
    link: Link | None = None,
) -> ServingSpeed | None:
    """Speed of one replica on such devices; None where the board's rates are not sourced, or the
    model writes no tokens. `link` joins the replica's GPUs; None: as inside one node."""
    rate = device_rate(device, serving.weights)
    if rate is None or not model.causal:
        return None
    parallel = parallel or Parallelism()
    mfu, basis = prefill_mfu(model, rate, device)
    machine = _Machine(
        model=model,
        serving=serving,
        parallel=parallel,
        rate=rate,
        link=link or inside_node(device.gpu, device.board),
        mfu=mfu,
        mbu=decode_mbu(model, serving.weights, rate),
    )
    room = capacity(model, serving, device.usable_bytes, parallel).sequences
    full = _saturation(machine, min(room, serving.max_sequences)) if room else 0
    parts = dict(
        zip(
            ("bandwidth", "compute", "communication"),
            _decode_parts(machine, serving.batch),
            strict=True,
        )
    )
    read, work = _decode_work(machine, serving.batch)
    prompt = mean_prompt(serving)
    exact = basis is Basis.MEASURED and model.basis is not Basis.ASSUMED
    return ServingSpeed(
        first_token_seconds=_prefill_seconds(machine, prompt, parallel.prompt_gpus),
        token_seconds=_decode_seconds(machine, serving.batch),
        tokens_per_second=_output_rate(machine, serving.batch),
        saturated_tokens_per_second=_output_rate(machine, full) if full else 0.0,
        saturation_sequences=full,
        binding=max(parts, key=parts.__getitem__),
        mfu=mfu,
        mbu=machine.mbu,
        basis=Basis.MODELLED if exact else Basis.ASSUMED,
        peak_operations=rate.peak,
        bandwidth_bytes=rate.bandwidth,
        prompt_operations=_prefill_operations(machine, prompt),
        prompt_moved_seconds=forward_seconds(model, prompt, parallel, machine.link),
        step_read_bytes=read,
        step_operations=work,
        step_moved_seconds=parts["communication"],
    )
