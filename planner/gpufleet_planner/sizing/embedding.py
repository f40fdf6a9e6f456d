"""Memory of forward passes without generation: embedding models, rerankers, classifiers."""

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
