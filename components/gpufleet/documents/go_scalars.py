"""Scalars of YAML the way Go programs read them: plain text to booleans, numbers and null.

`yes`, `on` and `y` are booleans, `0o17` is a number, `12:30` is text. Sources: go.yaml.in/yaml/v2
v2.4.3 `resolve.go` and `decode.go`.
"""

import base64
import binascii
import math
import re
import struct
from functools import lru_cache
from typing import Any

from gpufleet.documents.limits import UnreadableDocumentError

PLAIN = "plain"
"""Tag of a scalar that is written without quotes and without a tag."""
TAG = "tag:yaml.org,2002:"
STR = TAG + "str"
"""Tag of a scalar that is text with any content."""
_INT64 = range(-(1 << 63), 1 << 63)
_UINT64 = range(1 << 64)
_FIXED: dict[str, object] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DOT_FLOAT = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+)?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO](?P<oct>[0-7]+)"
    r"|0(?P<old>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)


def go_scalar(tag: str, text: str) -> bool | int | float | str | None:
    """The value of a scalar; dates stay text.

    Raises UnreadableDocumentError when an explicit tag does not fit the text.
    """
    if tag == STR:
        return text
    return _short_scalar(tag, text) if len(text) < 200 else _tagged(tag, text)


@lru_cache(maxsize=20_000)
def _short_scalar(tag: str, text: str) -> bool | int | float | str | None:
    """Words of manifests repeat: most scalars are resolved once in a run."""
    return _tagged(tag, text)


def _tagged(tag: str, text: str) -> bool | int | float | str | None:
    if tag == TAG + "binary":
        try:
            return base64.b64decode(text, validate=False).decode("utf-8", errors="replace")
        except (binascii.Error, ValueError):
            raise UnreadableDocumentError("!!binary holds no base64") from None
    if tag.startswith("!") or (tag.startswith(TAG) and tag[len(TAG) :] not in _KINDS):
        return text  # a tag of its own: the text stays as it is
    value = resolve(text)
    if tag == PLAIN or (tag == TAG + "timestamp" and _DATE.fullmatch(text)):
        return value
    wanted = _KINDS[tag[len(TAG) :]]
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted is None:
        fits = value is None
    else:
        fits = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    if not fits:
        raise UnreadableDocumentError(f"{text!r} is no {tag.removeprefix(TAG)}")
    return value


_KINDS: dict[str, type | None] = {
    "bool": bool,
    "int": int,
    "float": float,
    "null": None,
    "timestamp": str,
}


def resolve(text: str) -> bool | int | float | str | None:
    """Value of an untagged plain scalar."""
    if text in _FIXED:
        found: Any = _FIXED[text]
        return found
    if text[0] == ".":
        return float(text) if _DOT_FLOAT.fullmatch(text) else text
    if text[0] not in "+-0123456789" or _DATE.fullmatch(text):
        return text
    plain = text.replace("_", "")
    number = _integer(plain)
    if number is not None:
        return number
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        return text if math.isinf(value) else value
    return text


def _integer(plain: str) -> int | None:
    match = _INTEGER.fullmatch(plain)
    if match is None:
        return None
    for group, base in (("hex", 16), ("bin", 2), ("oct", 8), ("old", 8), ("dec", 10)):
        if match[group] is not None:
            try:
                value = int(match[group], base)
            except ValueError:  # thousands of decimal digits: more than Python reads, or Go takes
                return None
            value = -value if match["sign"] == "-" else value
            return value if value in _INT64 or (not match["sign"] and value in _UINT64) else None
    return None


def as_text(value: bool | int | float) -> str:
    """A number or boolean as a key, or where a program wants text: shortest form, as Go prints."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    return _shortest(value)


def _shortest(value: float) -> str:
    """Fewest digits that a 32-bit float tells apart, exponent form from 1e+06 on."""
    single = value
    if abs(value) <= 3.4028234663852886e38:
        single = struct.unpack("f", struct.pack("f", value))[0]
    digits = next(
        f"{single:.{n}g}" for n in range(1, 18) if n == 17 or _same(f"{single:.{n}g}", single)
    )
    mantissa, _, exponent = f"{float(digits):.{max(0, len(digits) - 1)}e}".partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        plain = (
            f"{float(digits):.20f}".rstrip("0").rstrip(".") if power < 0 else repr(float(digits))
        )
        return plain.removesuffix(".0")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _same(digits: str, single: float) -> bool:
    value = float(digits)
    if abs(value) > 3.4028234663852886e38:
        return value == single
    return struct.unpack("f", struct.pack("f", value))[0] == single
