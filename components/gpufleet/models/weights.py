"""Bytes of weights in each format, for the whole model and for the fullest GPU."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import WEIGHT_FORMATS, WeightFormat
from gpufleet.models.parallel import Parallelism, stage_layers
from gpufleet.models.parameters import ParameterCount, count_parameters


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Weights by the way they are divided among GPUs. Fractions of a byte are kept until the end,
    so that shares add up to the whole."""

    layers: Fraction
    """Everything of the layers but routed experts."""
    replicated: Fraction
    """The part of `layers` that no tensor group divides."""
    experts: Fraction
    embeddings: Fraction
    head: Fraction
    other: Fraction
    """Vision tower and similar parts, on the GPUs of the first stage."""
    working_copy: Fraction
    """bitsandbytes' dequantised matrix: once per GPU, never divided."""

    @property
    def stored(self) -> int:
        """Size of the weights themselves."""
        return ceil(self.layers + self.experts + self.embeddings + self.head + self.other)


def _plain(
    count: ParameterCount, weights: WeightFormat, model: Architecture, head: int
) -> WeightBytes:
    small = weights.bytes_per_parameter
    rest = Fraction(weights.other_bytes)
    dense = rest if weights.experts_only and model.is_mixture else small
    mixers, blocks = count.mixers * dense, count.feed_forward * dense
    experts = count.experts * small
    if model.stored is not None and model.stored.form == weights.name:
        mixers, blocks = model.stored.mixers, model.stored.feed_forward
        experts = model.stored.experts
    return WeightBytes(
        layers=mixers + blocks + (count.norms + count.router) * rest,
        replicated=mixers * count.replicated / max(count.mixers, 1),
        experts=experts,
        embeddings=count.embeddings * rest,
        head=head * rest,
        other=count.other * rest,
        working_copy=Fraction(0),
    )


@lru_cache(maxsize=4096)
def weight_bytes(
    model: Architecture, weights: WeightFormat, head_apart: bool = False
) -> WeightBytes:
    """Weights of a whole model in a format.

    `head_apart`: whether a head that the model ties is loaded as well. No format is planned larger
    than the next wider one, which no one would choose it over.
    """
    count = count_parameters(model)
    head = count.embeddings if head_apart and model.has_head else count.head
    found = _plain(count, weights, model, head)
    if weights.wider is None or (model.stored is not None and model.stored.form == weights.name):
        return found
    wider = weight_bytes(model, WEIGHT_FORMATS[weights.wider], head_apart)
    room = max(_sum(wider) - _sum(found), Fraction(0))
    if weights.working_copy:
        return replace(found, working_copy=min(Fraction(2 * count.largest_matrix), room))
    excess = max(_sum(found) - _sum(wider), Fraction(0))
    return replace(found, layers=max(found.layers - excess, Fraction(0))) if excess else found


def _sum(weights: WeightBytes) -> Fraction:
    parts = (weights.layers, weights.experts, weights.embeddings, weights.head, weights.other)
    return sum(parts, weights.working_copy)


def stage_weights(
    model: Architecture, weights: WeightBytes, parallel: Parallelism, *, training: bool = False
) -> tuple[Fraction, ...]:
    """Stored bytes on one GPU of each pipeline stage.

    Layers are spread by number, so stages of a model with unequal layers are averages. Tensor ranks
    divide matrices, embeddings and head, in serving a vision tower too (vllm-project/vllm
    config/multimodal.py, `mm_encoder_tp_mode`); expert ranks divide the experts only. In training
    the expert ranks come on top of the tensor ranks, in serving they are the same GPUs.
    """
    tensor = parallel.tensor
    ranks = tensor * parallel.expert if training else max(tensor, parallel.expert)
    divided = (weights.layers - weights.replicated) / tensor
    per_layer = (divided + weights.replicated + weights.experts / ranks) / model.layers
    stages = [layers * per_layer for layers in stage_layers(model.layers, parallel.pipeline)]
    tower = Fraction(model.tower_parameters, max(model.other_parameters, 1)) * weights.other
    kept = 1 if training else tensor
    stages[0] += weights.embeddings / tensor + weights.other - tower + tower / kept
    stages[-1] += weights.head / tensor
    if weights.head == 0 and len(stages) > 1 and model.has_head:
        # A tied head on another stage is a second copy of the embeddings.
        stages[-1] += weights.embeddings / tensor
    return tuple(stages)


def weights_per_gpu(
    model: Architecture, weights: WeightBytes, parallel: Parallelism, *, training: bool = False
) -> int:
    """Stored bytes on the fullest GPU."""
    return ceil(max(stage_weights(model, weights, parallel, training=training)))
