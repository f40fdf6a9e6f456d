"""Memory of a training step: full fine-tuning, LoRA, QLoRA, pre-training."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import WEIGHT_FORMATS, WeightFormat
from gpufleet.models.inference import context_item
from gpufleet.models.ledger import TRAINING_MARGIN, Basis, Item, Ledger, ledger, modelled
from gpufleet.models.parallel import Parallelism, Sharding, stage_layers
from gpufleet.models.parameters import ParameterCount, count_parameters
from gpufleet.models.weights import stage_weights, weight_bytes
from gpufleet_planner.sizing.training_state import (
    ADAPTER_STATE,
    COMPILE_FACTOR,
    LOSS_BYTES,
    SELECTIVE_FACTOR,
    AdapterTargets,
    Arithmetic,
    Checkpointing,
    Loss,
    Optimizer,
    StateBytes,
    TrainingFramework,
    TrainingPrecision,
    adapter_parameters,
    layer_activations,
    on_host,
    state_bytes,
)


class TrainingMethod(StrEnum):
    """Trained parameters."""

    FULL = "full"
    """Every parameter: pre-training and full fine-tuning need the same memory."""
    LORA = "lora"
    """Adapters on a frozen base. In 4 bit: QLoRA."""


@dataclass(frozen=True, slots=True)
class Training:
    """One training job as memory sees it."""

    context: int
    """Tokens per sample."""
    batch: int = 1
    """Samples per GPU and micro-batch."""
    method: TrainingMethod = TrainingMethod.FULL
    precision: TrainingPrecision = TrainingPrecision.MIXED
    optimizer: Optimizer = Optimizer.ADAMW
    fused_optimizer: bool = False
    accumulation: int = 1
    """Micro-batches per optimizer step; above 1 gradients live through all of them."""
    checkpointing: Checkpointing = Checkpointing.NONE
    compiled: bool = False
    """torch.compile of the layers."""
    loss: Loss = Loss.EAGER
    loss_parallel: bool = False
    base: WeightFormat = WEIGHT_FORMATS["bf16"]
    """LoRA: format of the frozen base."""
    rank: int = 16
    targets: AdapterTargets = AdapterTargets.ALL_LINEAR
    interleaving: int = 1
    """Virtual pipeline stages per GPU; above 1 more micro-batches are in flight."""
    framework: TrainingFramework = TrainingFramework.PYTORCH
    arithmetic: Arithmetic = Arithmetic.BF16
    """Speed only: weights and gradients are kept in `precision`."""

    def __hash__(self) -> int:
        return hash((self.context, self.batch, self.accumulation, self.method, self.checkpointing))

    @property
    def tokens(self) -> int:
        """Tokens of a micro-batch on one GPU."""
        return self.context * self.batch

    @property
    def frozen_feed_forward(self) -> bool:
        """LoRA on attention only, over a base that is not in 4 bit."""
        lora = self.method is TrainingMethod.LORA and not self.base.working_copy
        return lora and self.targets is not AdapterTargets.ALL_LINEAR

    @property
    def element_bytes(self) -> int:
        """Bytes of an element of activations: 4 when training runs in FP32 throughout."""
        full = self.method is TrainingMethod.FULL
        return 4 if full and self.precision is TrainingPrecision.FP32 else 2


@lru_cache(maxsize=4096)
def training_ledger(
    model: Architecture, training: Training, parallel: Parallelism | None = None
) -> Ledger:
    """Memory of the fullest GPU at the peak of a step.

    With a pipeline the first stage (most micro-batches in flight) and the last (logits) are both
    counted, and the fuller one is the result.
    """
    parallel = parallel or Parallelism()
    stages = (0,) if parallel.pipeline == 1 else (0, parallel.pipeline - 1)
    found = [_stage_ledger(model, training, parallel, stage) for stage in stages]
    return max(found, key=lambda account: account.total_bytes)


def _stage_ledger(
    model: Architecture, training: Training, parallel: Parallelism, stage: int
) -> Ledger:
    count = count_parameters(model)
    state = (
        _full_items(model, training, parallel, stage)
        if training.method is TrainingMethod.FULL
        else _adapter_items(model, training, parallel, stage)
    )
    kept = _activation_items(model, training, parallel, stage)
    transient = sum(item.bytes for item in kept)
    gradients = next((item for item in state if item.key == "gradients"), None)
    alone = parallel.training_gpus == 1 and training.accumulation == 1
    if gradients is not None and alone and training.method is TrainingMethod.FULL:
        # Gradients grow while activations shrink.
        larger = gradients.bytes > transient
        state = [replace(i, at_peak=larger) if i is gradients else i for i in state]
        kept = [replace(item, at_peak=not larger) for item in kept]
    gathered = _gathered(count, training, parallel)
    return ledger([*state, gathered, *kept, context_item()], TRAINING_MARGIN)


def _full_items(
    model: Architecture, training: Training, parallel: Parallelism, stage: int
) -> list[Item]:
    each = state_bytes(
        training.precision,
        training.optimizer,
        fused=training.fused_optimizer and training.accumulation == 1,
    )
    # Parameters in use by the GPU: FP32 weights at four bytes each.
    whole = weight_bytes(model, WEIGHT_FORMATS["fp32"])
    own = stage_weights(model, whole, parallel, training=True)[stage] / 4
    divisors = _divisors(parallel)
    hosted = on_host(training.optimizer)
    return [*_state_items(own, each, divisors, model.basis, "", hosted)]


def _divisors(parallel: Parallelism) -> StateBytes:
    """Number of ranks by which each part of the state is divided.

    Ranks that share a sequence hold the same weights and divide them too. With a pipeline, weights
    are not sharded again between micro-batches: whole weights and gradients stay.
    """
    data = parallel.data * parallel.context
    stays = parallel.pipeline > 1
    level = parallel.sharding
    optimizer = data if level is not Sharding.NONE else 1
    gradients = data if level in (Sharding.ZERO2, Sharding.ZERO3) and not stays else 1
    weights = data if level is Sharding.ZERO3 and not stays else 1
    return StateBytes(weights, optimizer, gradients, optimizer)


def _state_items(
    own: Fraction,
    each: StateBytes,
    divisors: StateBytes,
    basis: Basis,
    prefix: str,
    hosted: frozenset[str] = frozenset(),
) -> Iterator[Item]:
    for key, size, ranks in (
        ("weights", each.weights, divisors.weights),
        ("master_weights", each.master, divisors.master),
        ("gradients", each.gradients, divisors.gradients),
        ("optimizer", each.optimizer, divisors.optimizer),
    ):
        text = f"{ceil(own)} parameters x {size} B" + (f" / {ranks} ranks" if ranks > 1 else "")
        if key in hosted:
            text += ", in host memory"
        name = f"{prefix}{key}"
        yield Item(name, ceil(own * size / ranks), basis, text, at_peak=key not in hosted)


def _adapter_items(
    model: Architecture, training: Training, parallel: Parallelism, stage: int
) -> list[Item]:
    whole = weight_bytes(model, training.base)
    base = stage_weights(model, whole, parallel, training=True)[stage]
    divisors = _divisors(parallel)
    trained = adapter_parameters(model, training.rank, training.targets)
    share = Fraction(
        trained * stage_layers(model.layers, parallel.pipeline)[stage],
        parallel.tensor * model.layers,
    )
    copy = ceil(whole.working_copy)
    return [
        Item(
            "weights",
            ceil(base / divisors.weights),
            model.basis,
            f"frozen base in {training.base.name}, / {divisors.weights} ranks",
        ),
        Item("dequantised_matrix", copy, model.basis, "2 B x largest matrix while it is worked on"),
        *_state_items(share, ADAPTER_STATE, divisors, model.basis, "adapter_"),
    ]


def _gathered(count: ParameterCount, training: Training, parallel: Parallelism) -> Item:
    """FSDP's working copies: the layer in use and the one fetched ahead, in 16 bit."""
    ranks = parallel.data * parallel.context
    needed = parallel.sharding is Sharding.ZERO3 and ranks > 1 and parallel.pipeline == 1
    amp = training.method is TrainingMethod.FULL and training.precision is TrainingPrecision.AMP
    size = -(-2 * 2 * count.largest_layer // parallel.tensor) if needed or amp else 0
    return Item(
        "gathered_layers",
        size,
        Basis.MODELLED,
        f"2 copies x 2 B x {count.largest_layer} parameters of the largest layer / "
        f"{parallel.tensor}",
    )


def _activation_items(
    model: Architecture, training: Training, parallel: Parallelism, stage: int
) -> list[Item]:
    pipeline, tokens = parallel.pipeline, training.tokens
    in_flight = Fraction(pipeline - stage)
    if training.interleaving > 1 and pipeline > 1:
        in_flight *= 1 + Fraction(pipeline - 1, pipeline * training.interleaving)
    layers = in_flight * stage_layers(model.layers, pipeline)[stage]
    activations = _kept_activations(model, training, parallel, layers)
    last = stage == pipeline - 1
    logits = _loss_bytes(model, training, parallel) if last else 0
    return [
        Item(
            "gathered_sequence",
            _gathered_sequence(model, training, parallel),
            modelled(model.basis),
            f"3 copies x {tokens} tokens x {2 * model.hidden} B / {parallel.context}: inputs "
            "of the matrices, which each tensor rank gathers",
        ),
        Item(
            "activations",
            activations,
            modelled(model.basis),
            f"{tokens} tokens x {float(layers):g} layers x "
            f"{activations / tokens / float(layers):,.0f} B, {training.checkpointing.value} "
            f"checkpointing{', compiled' if training.compiled else ''}",
        ),
        Item(
            "logits",
            logits,
            modelled(model.basis),
            f"{tokens} tokens x {model.vocabulary} x "
            f"{logits / (tokens * max(model.vocabulary, 1)):g} B, {training.loss.value} loss",
        ),
    ]


def _kept_activations(
    model: Architecture, job: Training, parallel: Parallelism, layers: Fraction
) -> int:
    """Bytes kept for the backward pass by a number of layers (micro-batches in flight included).

    Layers of unequal kinds are averaged, the recomputed layer is the largest.
    """
    each = [
        (
            group.count,
            layer_activations(model, group, frozen_feed_forward=job.frozen_feed_forward).on_gpu(
                parallel
            ),
        )
        for group in model.groups
    ]
    average = sum((count * layer for count, layer in each), Fraction(0)) / model.layers
    largest = max(layer for _, layer in each)
    factor = COMPILE_FACTOR if job.compiled else Fraction(1)
    tokens = Fraction(job.tokens, parallel.context) * Fraction(job.element_bytes, 2)
    if job.checkpointing is Checkpointing.FULL:
        share = parallel.tensor if parallel.sequence else 1
        inputs = layers * Fraction(2 * model.hidden, share)
        return ceil(tokens * (inputs + largest * factor))
    if job.checkpointing is Checkpointing.SELECTIVE:
        factor *= SELECTIVE_FACTOR
    return ceil(tokens * layers * average * factor)


def _gathered_sequence(model: Architecture, job: Training, parallel: Parallelism) -> int:
    """Bytes of whole sequences that a tensor rank gathers from parts: the input of a matrix in the
    forward pass, the same again and its gradient in the backward pass."""
    if parallel.tensor == 1 or not parallel.sequence:
        return 0
    return ceil(Fraction(3 * job.tokens * model.hidden * job.element_bytes, parallel.context))


def _loss_bytes(model: Architecture, job: Training, parallel: Parallelism) -> int:
    """Bytes of logits and their gradients. Tensor ranks that compute the loss in parallel each hold
    a part of the vocabulary."""
    if not model.has_head:
        return 0
    share = parallel.context * (parallel.tensor if job.loss_parallel else 1)
    # Tensor ranks normalise apart: the FP32 logarithms are one more copy.
    apart = job.loss_parallel and parallel.tensor > 1 and job.loss is not Loss.CHUNKED
    copies = 4 if apart else 0
    each = (LOSS_BYTES[job.loss] + copies) * Fraction(job.element_bytes, 2)
    return ceil(Fraction(job.tokens * model.vocabulary, share) * each)


_PREFIX = "GPUFLEET_"


def training_settings(job: Training, parallel: Parallelism) -> dict[str, str]:
    """Settings by name, in the words of this package's options. Degrees of one are left out."""
    lora = job.method is TrainingMethod.LORA
    found = {
        "framework": job.framework.value,
        "arithmetic": job.arithmetic.value,
        "precision": job.base.name if lora else job.precision.value,
        "optimizer": job.optimizer.value,
        "micro batch": str(job.batch),
        "accumulation": str(job.accumulation),
        "context": str(job.context),
        "checkpointing": job.checkpointing.value,
        "loss": job.loss.value,
    }
    optional = {
        "compile": "true" if job.compiled else "",
        "loss parallel": "true" if job.loss_parallel else "",
        "interleaving": _degree(job.interleaving),
        "fused optimizer": "true" if job.fused_optimizer else "",
        "rank": str(job.rank) if lora else "",
        "targets": job.targets.value if lora else "",
        "sequence parallel": str(parallel.sequence).lower() if parallel.tensor > 1 else "",
        "sharding": parallel.sharding.value if parallel.data > 1 else "",
        "data": _degree(parallel.data),
        "tensor": _degree(parallel.tensor),
        "pipeline": _degree(parallel.pipeline),
        "context parallel": _degree(parallel.context),
        "expert": _degree(parallel.expert),
    }
    return found | {name: value for name, value in optional.items() if value}


def _degree(degree: int) -> str:
    return str(degree) if degree > 1 else ""


def settings_text(job: Training, parallel: Parallelism) -> str:
    """The same in one line."""
    settings = training_settings(job, parallel).items()
    return "the program must run with " + ", ".join(f"{name} {value}" for name, value in settings)


def settings_env(job: Training, parallel: Parallelism) -> list[dict[str, str]]:
    """The same as variables of a container; the program in it has to read them."""
    return [
        {"name": _PREFIX + name.upper().replace(" ", "_"), "value": value}
        for name, value in training_settings(job, parallel).items()
    ]
