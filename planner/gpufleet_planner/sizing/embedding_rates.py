"""Speed of forward passes without generation."""

from dataclasses import dataclass

from gpufleet.models.architecture import Architecture
from gpufleet.models.inference import Serving
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.sizing.communication import Link, forward_seconds, inside_node
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.throughput import attention_flops, device_rate, prefill_mfu


@dataclass(frozen=True, slots=True)
class EmbeddingSpeed:
    """Speed of one replica."""

    batch_seconds: float
    """One forward pass over the batch."""
    tokens_per_second: float
    """Input tokens."""
    mfu: float
    basis: Basis


def embedding_speed(
    model: Architecture,
    serving: Serving,
    device: Device,
    parallel: Parallelism | None = None,
    link: Link | None = None,
) -> EmbeddingSpeed | None:
    """Like a saturated prefill; None where the board's rates are not sourced."""
    rate = device_rate(device, serving.weights)
    if rate is None:
        return None
    parallel = parallel or Parallelism()
    mfu, _ = prefill_mfu(model, rate, device)
    tokens = serving.batch * serving.context
    # Embeddings are looked up: of an encoder's parameters only the layers multiply.
    count = count_parameters(model)
    work = tokens * (2 * count.multiplied + attention_flops(model, serving.context))
    seconds = work / (parallel.serving_gpus * rate.peak * mfu)
    seconds += forward_seconds(
        model, tokens, parallel, link or inside_node(device.gpu, device.board)
    )
    return EmbeddingSpeed(seconds, tokens / seconds, mfu, Basis.ASSUMED)
