"""Functions that Kubernetes adds to CEL, over the values of `DraDevice.variable`."""

import re
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from gpufleet.documents.quantities import quantity

_SEMVER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?")
_WORDS = """
all exists exists_one existsOne map filter has size contains startsWith endsWith matches
int uint double string bytes bool type dyn duration timestamp format named validate
charAt indexOf lastIndexOf join split substring replace reverse trim quote
lowerAscii upperAscii find findAll isSorted sum min max includes bind
quantity isQuantity isInteger asInteger asApproximateFloat sign add sub compareTo
isLessThan isGreaterThan semver isSemver major minor patch
url isURL getScheme getHost getHostname getPort getEscapedPath getQuery
ip isIP cidr isCIDR family containsIP containsCIDR masked prefixLength
optMap optFlatMap or orValue hasValue value of none ofNonZeroValue
transformList transformMap transformMapEntry equivalent intersects
"""
CALLABLE = tuple(_WORDS.split())
"""Functions and macros of an expression in Kubernetes (apiserver/pkg/cel/environment/base.go)."""


@cache
def cel() -> Any:
    """The module `cel` without its command line, whose terminal toolkit takes nine tenths of the
    import time: an empty module replaces the toolkit during the import."""
    empty = ModuleType("cel.cli")
    if sys.modules.setdefault("cel.cli", empty) is not empty:
        return import_module("cel")
    try:
        return import_module("cel")
    finally:
        del sys.modules["cel.cli"]


@lru_cache(1024)
def functions(text: str | None = None) -> dict[str, Callable[..., Any]]:
    """Functions that Kubernetes adds to CEL, over the values of `DraDevice.variable`; with a text
    those that it may call: each makes an evaluation slower."""
    found: dict[str, Callable[[Any], Any] | Callable[[Any, Any], Any]] = {
        "quantity": lambda text: {"quantity": str(quantity(text))},
        "isQuantity": is_quantity,
        "semver": _semver,
        "isSemver": is_semver,
        "compareTo": _compare,
        "isGreaterThan": lambda one, other: _compare(one, other) > 0,
        "isLessThan": lambda one, other: _compare(one, other) < 0,
        "major": lambda version: version["semver"][0],
        "minor": lambda version: version["semver"][1],
        "sum": sum,
        "lowerAscii": str.lower,
        "upperAscii": str.upper,
        "trim": str.strip,
        "split": str.split,
        "join": lambda words, between: between.join(words),
        "find": _find,
    }
    return {name: one for name, one in found.items() if text is None or name in text}


@lru_cache(maxsize=512)
def compiled(expression: str) -> Any:
    """The program of an expression. Raises ValueError if it does not parse."""
    return cel().compile(expression)


def evaluated(expression: str, device: Mapping[str, Any]) -> Any:
    """The result of an expression for a device. Raises KeyError for an attribute that the device
    lacks, RuntimeError, TypeError or ValueError for expressions that cannot be evaluated here."""
    return compiled(expression).execute(cel().Context({"device": device}, functions(expression)))


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return "" if found is None else found.group()


def is_quantity(text: str) -> bool:
    """Whether Kubernetes reads a text as a quantity."""
    return quantity(text) is not None


def _semver(text: str, normalize: bool = False) -> dict[str, Any]:
    found = _SEMVER.fullmatch(text + ".0" * max(0, 2 - text.count(".")) if normalize else text)
    return {"semver": tuple(int(part) for part in found.groups()) if found else (0, 0, 0)}


def is_semver(text: str) -> bool:
    """Whether a text is a semantic version."""
    return _SEMVER.fullmatch(text) is not None


def _compare(one: Any, other: Any) -> int:
    a, b = _order(one), _order(other)
    return (a > b) - (a < b)


def _order(value: Any) -> Any:
    return Fraction(value["quantity"]) if "quantity" in value else tuple(value["semver"])
