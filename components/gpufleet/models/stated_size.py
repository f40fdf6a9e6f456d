"""A model of which only the number of parameters is known: a typical shape, every part assumed."""

import re
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from math import ceil

from gpufleet.models.architecture import Architecture, Attention, FeedForward, LayerGroup
from gpufleet.models.ledger import Basis
from gpufleet.models.parameters import count_parameters

_VOCABULARY = 128_256
_HEAD_DIM = 128
_KV_HEADS = 8
_STATED = re.compile(r"^([0-9]+(?:\.[0-9]+)?)\s*([kmbt])$", re.IGNORECASE)
_SCALE = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
MAX_PARAMETERS = 10**14
"""Largest count that is taken seriously."""


def stated_parameters(text: str) -> int | None:
    """The number in `8B`, `1.5b`, `350M` or `7000000000`; None if the text is not such a number."""
    match = _STATED.match(text.strip())
    try:
        number = Decimal(match[1] if match else text.strip())
    except InvalidOperation:
        return None
    if match:
        number *= _SCALE[match[2].lower()]
    if not number.is_finite() or not 1_000_000 <= number <= MAX_PARAMETERS:
        return None
    return ceil(number)


def from_parameter_count(parameters: int, active: int | None = None) -> Architecture:
    """A dense Llama-like model of this size.

    The shape is the smallest of a fallback order that has at least as many parameters: hidden size
    h in steps of 128, h/128 layers, feed-forward 3.5h, query heads of 128 in eights, 8 KV heads, a
    vocabulary of 128,256 with a head of its own. More parameters never give a smaller shape.
    """
    hidden = _HEAD_DIM
    while True:
        model = _step(hidden)
        if count_parameters(model).total >= parameters:
            break
        hidden += _HEAD_DIM
    shape = f"{model.layers} layers, hidden {hidden}, feed-forward {hidden * 7 // 2}"
    return replace(
        model,
        name=f"{parameters} parameters",
        source="stated parameter count",
        assumptions=(
            f"dense, {_KV_HEADS} KV heads of {_HEAD_DIM}, {shape}",
            f"vocabulary {_VOCABULARY}, head of its own",
        ),
        stated_parameters=parameters,
        stated_active=parameters if active is None else active,
    )


def _step(hidden: int) -> Architecture:
    heads = _KV_HEADS * -(-hidden // (_KV_HEADS * _HEAD_DIM))
    mixer, block = Attention(heads, _KV_HEADS, _HEAD_DIM), FeedForward(hidden * 7 // 2)
    return Architecture(
        name="ladder",
        hidden=hidden,
        vocabulary=_VOCABULARY,
        tied_embeddings=False,
        groups=(LayerGroup(hidden // _HEAD_DIM, mixer, block),),
        basis=Basis.ASSUMED,
        source="",
    )
