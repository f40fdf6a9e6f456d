"""Forward passes without generation, of embedding models, rerankers, classifiers: memory, speed."""

from dataclasses import dataclass

from gpufleet.models.architecture import Architecture
from gpufleet.models.inference import (
    TRANSFORMERS_WORKSPACE,
    Serving,
    context_item,
    forward_workspace,
    weight_items,
    workspace_formula,
)
from gpufleet.models.ledger import INFERENCE_MARGIN, Basis, Item, Ledger, ledger
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.sizing.communication import Link, forward_seconds, inside_node
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.throughput import attention_flops, device_rate, prefill_mfu


def embedding_ledger(
    model: Architecture, serving: Serving, parallel: Parallelism | None = None
) -> Ledger:
    """Weights, one forward pass over batch x context tokens, workspace and context. No cache: keys
    and values of one layer at a time are part of the pass."""
    parallel = parallel or Parallelism()
    tokens = serving.batch * serving.context
    fp32 = serving.computes_in_fp32
    forward = forward_workspace(model, tokens, parallel.tensor, fp32=fp32)
    return ledger(
        [
            *weight_items(model, serving, parallel),
            Item(
                "activations",
                forward,
                Basis.MODELLED if model.causal else Basis.ASSUMED,
                workspace_formula(tokens, forward, parallel.tensor),
            ),
            Item("workspace", TRANSFORMERS_WORKSPACE, Basis.ASSUMED, "0.04 GiB"),
            context_item(),
        ],
        INFERENCE_MARGIN,
    )


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
