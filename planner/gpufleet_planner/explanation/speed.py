"""Speed, explained: each time with the work, the rate and the part of it that is reached."""

from collections.abc import Iterator

from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.inference import Serving
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.explanation import sources
from gpufleet_planner.explanation.line import ExplanationLine
from gpufleet_planner.sizing.decode_step import EAGER_DECODE
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.embedding_rates import EmbeddingSpeed
from gpufleet_planner.sizing.serving_rates import ServingSpeed, mean_prompt
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.sizing.training_rates import TrainingSpeed


def explain_serving(
    speed: ServingSpeed, serving: Serving, device: Device, parallel: Parallelism
) -> Iterator[ExplanationLine]:
    """First token, token, throughput, saturation."""
    yield from _rates(device, speed.peak_operations, speed.bandwidth_bytes)
    known = f"{sources.PREFILL}; {sources.LINKS}"
    gpus = parallel.prompt_gpus
    prompt = mean_prompt(serving)
    yield ExplanationLine(
        "speed",
        "first token",
        f"{1000 * speed.first_token_seconds:.1f} ms",
        f"{_tera(speed.prompt_operations)} operations of a {prompt:,} token prompt / ({gpus} x "
        f"{_tera(speed.peak_operations)}/s x MFU {speed.mfu:g}) + "
        f"{1000 * speed.prompt_moved_seconds:.1f} ms of communication; idle replica",
        speed.basis,
        known,
    )
    ranks = max(parallel.tensor, parallel.expert)
    eager = f" x {EAGER_DECODE:g} (eager)" if serving.engine is InferenceEngine.TRANSFORMERS else ""
    opened, started = "", ""
    if speed.step_started_seconds:
        opened = "(" if eager else ""
        started = f" + {1000 * speed.step_started_seconds:.2f} ms to start kernels"
        started += ")" if eager else ""
    yield ExplanationLine(
        "speed",
        "token",
        f"{1000 * speed.token_seconds:.2f} ms",
        f"{opened}max({speed.step_read_bytes / 1e9:.2f} GB read / "
        f"({_giga(speed.bandwidth_bytes)}/s x MBU "
        f"{speed.mbu:g}), {_tera(speed.step_operations)} operations / ({ranks} x "
        f"{_tera(speed.peak_operations)}/s x MFU {speed.mfu:g}))"
        f"{started}{eager} + "
        f"{1000 * speed.step_moved_seconds:.2f} ms of communication; {serving.batch} sequences, "
        f"{speed.binding} binds",
        speed.basis,
        f"{sources.DECODE}; {known}",
    )
    yield ExplanationLine(
        "speed",
        "first token under load",
        f"{1000 * speed.loaded_first_token_seconds:.0f} ms",
        f"of 95 % of the requests, which arrive at random; of {serving.batch} clients that start "
        f"together, as load tests do, {1000 * speed.together_first_token_seconds:.0f} ms on "
        "average: prompts that come at once are prefilled in groups, as many as fit into a step",
        speed.basis,
        sources.LOADS,
    )
    yield ExplanationLine(
        "speed",
        "output of a replica",
        f"{speed.tokens_per_second:,.0f} tokens/s",
        f"{serving.batch} sequences / (token + prefill of their next prompts per output token + "
        "what the engine's server adds to a step)",
        speed.basis,
        sources.PREFILL,
    )
    yield ExplanationLine(
        "speed",
        "saturated output",
        f"{speed.saturated_tokens_per_second:,.0f} tokens/s at {speed.saturation_sequences}",
        "the same at the batch where memory is full or arithmetic takes as long as reading",
        speed.basis,
        sources.PREFILL,
    )


def explain_training(
    speed: TrainingSpeed, job: Training, device: Device, parallel: Parallelism
) -> Iterator[ExplanationLine]:
    """Step and throughput."""
    rates = device.rates
    if rates is not None and rates.memory_bandwidth is not None:
        yield from _rates(device, speed.peak_operations, None)
    yield ExplanationLine(
        "speed",
        "operations of a token",
        f"{speed.flops_per_token / 1e9:,.2f} G",
        "(2 x active parameters + causal attention) x 3 passes, 2 where the base is frozen, one "
        f"more with full checkpointing (here {job.checkpointing.value})",
        Basis.MODELLED,
        sources.FORMULAS,
    )
    group = parallel.tensor * parallel.pipeline * parallel.context
    tokens = job.tokens * job.accumulation
    yield ExplanationLine(
        "speed",
        "step",
        f"{speed.step_seconds:.3f} s",
        f"{tokens:,} tokens x {speed.flops_per_token / 1e9:,.2f} G / ({group} x "
        f"{_tera(speed.peak_operations)}/s x MFU {speed.mfu:.4g}) = "
        f"{speed.compute_seconds:.3f} s, + {speed.exposed_seconds:.3f} s of communication "
        f"that arithmetic does not hide (of {speed.communication_seconds:.3f} s), + pipeline "
        "bubbles",
        speed.basis,
        f"{sources.TRAINING}; {sources.LINKS}",
    )
    yield ExplanationLine(
        "speed",
        "training",
        f"{speed.tokens_per_second:,.0f} tokens/s",
        f"{tokens:,} tokens x {parallel.data} data ranks / step",
        speed.basis,
        sources.TRAINING,
    )


def explain_embedding(speed: EmbeddingSpeed, serving: Serving) -> Iterator[ExplanationLine]:
    """One forward pass."""
    yield ExplanationLine(
        "speed",
        "batch",
        f"{1000 * speed.batch_seconds:.1f} ms",
        f"{serving.batch} x {serving.context} tokens, 2 operations a parameter of the layers, MFU "
        f"{speed.mfu:g}",
        speed.basis,
        sources.PREFILL,
    )
    yield ExplanationLine(
        "speed",
        "input",
        f"{speed.tokens_per_second:,.0f} tokens/s",
        "tokens of a batch / its time",
        speed.basis,
        sources.PREFILL,
    )


def _rates(device: Device, peak: float, bandwidth: float | None) -> Iterator[ExplanationLine]:
    row = f"catalogue, {device.gpu.source.key} of {device.gpu.source.date}, dense rates"
    board = f"{device.board} board" if device.board else "the board"
    part = f" x {float(device.compute_share):.4g} (its part)" if device.compute_share != 1 else ""
    yield ExplanationLine("speed", "peak", f"{_tera(peak)}/s", board + part, Basis.MEASURED, row)
    if bandwidth is not None:
        part = f" x {float(device.bandwidth_share):.4g}" if device.bandwidth_share != 1 else ""
        value = f"{_giga(bandwidth)}/s"
        yield ExplanationLine("speed", "bandwidth", value, board + part, Basis.MEASURED, row)


def _tera(amount: float) -> str:
    return f"{amount / 1e12:,.2f} T"


def _giga(amount: float) -> str:
    return f"{amount / 1e9:,.0f} GB"
