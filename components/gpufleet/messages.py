"""Texts for people and programs: without credentials, and without characters that a terminal or a
log interprets.

Names of objects and files come from users. A line feed in a name would start a new line in a log,
an escape sequence would change colours, and a directional mark would reorder the displayed
letters.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from gpufleet.secret_text import masked

_CODE = r"`([^`]+)`"
_SHOWN = 60
"""Maximum characters of a value in a message."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LINES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]+")
_FORMAT = re.compile(
    "[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
"""Characters of the category Cf (Unicode 15.0), which are invisible and change the display of
others, and lone surrogates, which file names can contain and no encoding has."""
_IN_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029]|{_FORMAT.pattern}")


def one_line(text: str) -> str:
    """A text on one line: control characters become spaces, invisible characters an escape."""
    if text.isprintable():
        return text
    return _FORMAT.sub(_escape, _CONTROL.sub(" ", text))


def counted(number: int, noun: str) -> str:
    """A number with its noun, which is plural unless it is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def marked(text: str) -> str:
    """A text for HTML on one line; text between backticks becomes code."""
    from html import escape  # pages alone need it

    return re.sub(_CODE, r"<code>\1</code>", escape(one_line(text)))


def visible(text: str) -> str:
    """The same for a text of several lines; line feeds and tabs stay."""
    if text.isprintable():
        return text
    return _FORMAT.sub(_escape, _LINES.sub(" ", text))


@lru_cache(maxsize=4096)
def message(text: str) -> str:
    """A text for people: with visible characters, and without credentials."""
    return visible(masked(text))


def shown_value(value: object) -> str:
    """A value of a file in a message: masked, then shortened; mappings and lists as their size.

    Masking comes first: a shortened credential would not be recognised.
    """
    if isinstance(value, str):
        text = repr(masked(value))
    elif isinstance(value, Mapping):
        text = "a mapping"
    elif isinstance(value, (list, tuple)):
        text = f"a list of {len(cast('Sequence[object]', value))}"
    elif value is None:
        text = "null"
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def json_text(document: object, indent: int = 2) -> str:
    """A document as JSON that is safe to print; decimals become text, so no digit is lost.

    Reading it back returns every character: invisible characters are JSON escapes.
    """
    text = json.dumps(document, indent=indent, default=str, ensure_ascii=False)
    return _IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
