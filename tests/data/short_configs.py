"""The short form of `model_sizes.jsonl`: configurations name thousands of layers one by one.

`a.layers.{0..3,7}.b` represents five names, `{"values": [...], "order": "0012"}` a list of few
values that repeat. Keys for training and generation of every class of Transformers are omitted.
"""

import re
from typing import Any

_RANGES = re.compile(r"\{([\d.,]+)\}")


def whole(short: Any) -> Any:
    """The configuration as it was published."""
    if isinstance(short, list):
        return [
            name
            for one in short
            for name in (_names(one) if isinstance(one, str) else [whole(one)])
        ]
    if not isinstance(short, dict):
        return short
    if short.keys() == {"values", "order"}:
        return [short["values"][int(digit)] for digit in short["order"]]
    return {name: whole(value) for key, value in short.items() for name in _names(key)}


def _names(text: str) -> list[str]:
    found = _RANGES.search(text)
    if found is None:
        return [text]
    numbers: list[int] = []
    for part in found[1].split(","):
        first, _, last = part.partition("..")
        numbers += range(int(first), int(last or first) + 1)
    return [f"{text[: found.start()]}{number}{text[found.end() :]}" for number in numbers]
