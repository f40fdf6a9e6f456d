"""Reading fields of plain data as facts: path by path, any wrong type reads as unknown, and so does
a text that a tool or a person replaces before anything is applied."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar, cast

from gpufleet.cluster.container import Amount
from gpufleet.cluster.fact import UNKNOWN, Fact, Provenance, absent, known, unknown
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import is_list, is_mapping, rewritten

T = TypeVar("T")

_LARGEST = 2**63
_WHOLE = re.compile(r"^-?[0-9]+$")


def at(document: Any, path: str) -> Any:
    """The plain value under a dotted path: None when absent, UNKNOWN when it cannot be read."""
    return value_at(document, path, unreadable=UNKNOWN)


def place_of(document: Any, is_wanted: Callable[[Any], bool], path: str = "") -> str | None:
    """The path of the first matching value in a document; None without one."""
    if not is_mapping(document) and not is_list(document):
        return path if is_wanted(document) else None
    for step, item in document.items() if is_mapping(document) else enumerate(document):
        if is_mapping(item) or is_list(item) or is_wanted(item):
            place = place_of(item, is_wanted, child(path, step))
            if place is not None:
                return place
    return None


def holds_unknown(value: dict[str, Any] | list[Any]) -> bool:
    """Whether anything in a mapping or list is UNKNOWN."""
    below = value.values() if isinstance(value, dict) else value
    if UNKNOWN in below:
        return True
    for one in below:  # a loop: every value of every object comes by here
        if isinstance(one, dict | list) and holds_unknown(cast("dict[str, Any]", one)):
            return True
    return False


def without(value: Any, is_hidden: Callable[[Any], bool]) -> Any:
    """Plain data with UNKNOWN in place of what is hidden."""
    return rewritten(value, lambda one: UNKNOWN if is_hidden(one) else one)


def fact(
    value: Any,
    convert: Callable[[Any], T | None],
    place: str,
    provenance: Provenance = Provenance.EXPLICIT,
) -> Fact[T]:
    """A fact about a plain value; unknown where `convert` returns None."""
    if value is None:
        return absent(place, provenance)
    if value is UNKNOWN:
        return unknown(place, provenance)
    converted = convert(value)
    return unknown(place, provenance) if converted is None else known(converted, provenance, place)


def text(value: Any) -> str | None:
    """Text, unless it holds a placeholder that a template tool replaces later."""
    if not isinstance(value, str) or "${" in value or "{{" in value:
        return None
    return value


def whole(value: Any) -> int | None:
    """A whole number, also when written as text; None for what no API takes (64 bits)."""
    if isinstance(value, bool):
        return None
    number = value if isinstance(value, int) else None
    if isinstance(value, str) and len(value) <= _DIGITS and _WHOLE.match(value.strip()):
        number = int(value)
    return None if number is None or abs(number) > _LARGEST else number


def boolean(value: Any) -> bool | None:
    """True or false."""
    return value if isinstance(value, bool) else None


def decimal(value: Any) -> Decimal | None:
    """A finite number, also when written as text; None for what no field can mean (1e99999)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except (ArithmeticError, ValueError):
        return None
    return number if is_meant(number) else None


def is_meant(number: Decimal) -> bool:
    """Whether a number is finite and of a size that fields can mean: 1e-40 to 1e40, and 0."""
    return number.is_finite() and abs(number.adjusted()) <= _DIGITS


_DIGITS = 40
"""Maximum digits before and after the point: written out, a longer number would be a text of
excessive length. Python refuses texts of thousands of digits."""


def words(value: Any) -> tuple[str, ...] | None:
    """A list of texts; None when one of them is not known."""
    if not is_list(value) or not all(isinstance(word, str) for word in value):
        return None
    return tuple(value)


def amount(value: Any) -> Amount | None:
    """A quantity as a number in its base unit; None for other texts (`$(GPUS)`, `two`, `-1`)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    written = str(value).strip()
    found = quantity(written)
    if found is None or found < 0:
        return None
    base = Decimal(found.numerator) / Decimal(found.denominator)
    return Amount(written, base) if is_meant(base) else None


def whole_amount(value: Any) -> int | None:
    """A quantity that is a whole number; None for any other."""
    found = amount(value)
    return int(found.number) if found is not None and found.is_whole else None


_TOOLS = re.compile(
    r"\$\{[A-Za-z_]|\$\([A-Za-z_]|\$[A-Z_]|<<|\{\{|^<[A-Za-z_][^<>]*>$|@@\w+@@|__[A-Z0-9]\w*__|^%[A-Z]\w*%$"
)
"""Variables of envsubst, Flux, Argo CD's plugins, Helm, sed scripts, and `<what goes here>`."""
_PEOPLE = re.compile(
    r"(?:^|[-_./: ])(?:place_?holder|replace(?:[-_]?(?:me|with))?|change[-_]?me|fill[-_]?me|your|"
    r"todo|fixme|tbd)(?:$|[-_./: ])",
    re.IGNORECASE,
)
"""Words of placeholders in use: `PLACEHOLDER_NODES`, `REPLACE_ME`, `your-project`."""
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""A name in capitals where a number or a word of a list is needed: `NUM_NODES`."""


def is_filled_in(value: Any) -> bool:
    """Whether a value is a text with a variable of a tool."""
    return isinstance(value, str) and _TOOLS.search(value) is not None


def stands_for_another(value: Any) -> bool:
    """Whether a value that is refused as it is written is one that will be replaced."""
    if not isinstance(value, str):
        return False
    return (
        is_filled_in(value)
        or _PEOPLE.search(value) is not None
        or _NAME.fullmatch(value) is not None
        or set(value) == {"*"}
    )
