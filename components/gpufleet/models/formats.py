"""Number formats of weights and KV cache: exact bytes, unquantised parts, GPUs that support them.

Sizes are exact fractions: a group of 128 4-bit weights with a 2-byte scale and a 4-bit zero point
is not "half a byte" each.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.catalogue.source_rows import fact_of
from gpufleet.findings import Finding, error


class Compute(StrEnum):
    """The unit that multiplies: named like the fields of `catalogue.Rates`."""

    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    FP4 = "fp4"


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """Storage format of the matrices of a model."""

    name: str
    bytes_per_parameter: Fraction
    """Bytes per parameter of a matrix, quantised or not, with scales and zero points."""
    other_bytes: int
    """Bytes per parameter of unquantised parts: embeddings, head, norms, routers."""
    compute: Compute
    """Peak rate that applies. Weight-only formats multiply in BF16."""
    min_capability: tuple[int, int]
    """Lowest CUDA compute capability that runs it at all."""
    native_capability: tuple[int, int] | None = None
    """Lowest compute capability whose units multiply it as it is stored; below that the weights are
    expanded to 16 bit first. None: `min_capability`."""
    working_copy: bool = False
    """bitsandbytes keeps one matrix dequantised while it works."""
    experts_only: bool = False
    """In a mixture of experts only the experts are quantised (gpt-oss; ModelOpt's exclude lists
    name the attention). Dense models have every matrix but the head quantised (same lists)."""
    wider: str | None = None
    """The format the next wider release of a model uses: no plan is ever larger than that one."""

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def quantised(self) -> bool:
        """Whether matrices and embeddings are stored differently."""
        return self.bytes_per_parameter != self.other_bytes


_ROWS = read_rows(Path(__file__).parent, "formats")


def _bytes(text: str) -> Fraction:
    """`1/2 + 5/256`: a 4-bit number, and its share of a scale and a zero point."""
    return sum(map(Fraction, text.split(" + ")), Fraction(0))


def _weight_format(row: RawRow) -> WeightFormat:
    size, compute = _bytes(row["bytes"]), Compute(row["compute"])
    return fact_of(WeightFormat, row, bytes_per_parameter=size, compute=compute)


WEIGHT_FORMATS = {row["name"]: _weight_format(row) for row in _ROWS if row["use"] == "weights"}
"""Formats by name. AWQ and GPTQ have group 128 unless the name has another; NF4 blocks are 64,
double quantisation groups 256 of them."""


@dataclass(frozen=True, slots=True)
class KvFormat:
    """Storage format of keys and values."""

    name: str
    bytes_per_element: Fraction
    scale_bytes_per_head: int = 0
    """Bytes for each token and head, once for K and once for V."""

    def __hash__(self) -> int:
        return hash(self.name)


KV_FORMATS = {
    row["name"]: fact_of(KvFormat, row, bytes_per_element=_bytes(row["bytes"]))
    for row in _ROWS
    if row["use"] == "kv"
}
"""KV cache formats by name. Plain `fp8` has one scale per tensor, which is not counted."""

_ALIASES = {(row["use"], alias): row["name"] for row in _ROWS for alias in row.get("aliases", ())}
_ENDINGS = {ending: row["name"] for row in _ROWS for ending in row.get("endings", ())}
"""Suffix of releases in another format on the Hub, and the format; groups are of 128."""


def named_format(text: str) -> tuple[str, str] | None:
    """A release's name without the format at its end, and the format; None: no format in it."""
    plain = text.strip()
    for ending in sorted(_ENDINGS, key=len, reverse=True):
        if plain.lower().endswith(ending):
            return plain[: -len(ending)], _ENDINGS[ending]
    return None


def find_weight_format(text: str, path: str = "weights") -> WeightFormat | Finding:
    """The format with this name, or the error with the nearest names."""
    found = WEIGHT_FORMATS.get(_name("weights", text))
    return found or _unknown("weight-format-unknown", text, path, WEIGHT_FORMATS)


def find_kv_format(text: str, path: str = "kvCache") -> KvFormat | Finding:
    """The KV cache format with this name, or the error with the nearest names."""
    found = KV_FORMATS.get(_name("kv", text))
    return found or _unknown("kv-format-unknown", text, path, KV_FORMATS)


def _name(use: str, text: str) -> str:
    folded = text.strip().lower()
    return _ALIASES.get((use, folded), folded)


def _unknown(code: str, text: str, path: str, table: Iterable[str]) -> Finding:
    names = list(table)
    close = nearest_names(text, names) or tuple(names)
    return error(
        code,
        path,
        f"{text!r} is not a number format known here; there is {', '.join(names)}",
        f"write {' or '.join(close[:3])}",
        value=text,
        known=names,
    )
