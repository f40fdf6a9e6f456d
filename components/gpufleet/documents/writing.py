"""Plain data as YAML whose bytes depend on nothing but the data.

Block style, keys in the order given, no line breaking; strings that some reader of YAML 1.1 or 1.2
could take for something else are quoted as JSON quotes them.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words YAML 1.1 reads as booleans or nothing."""
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters a YAML stream may not hold as they are, which JSON leaves alone."""
_BLOCK = re.compile("[^ \\n\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def yaml_text(document: Mapping[str, Any], comment: str = "") -> str:
    """One document, with an optional comment before it; ends in a line feed."""
    return commented(comment) + "\n".join(_mapping(document, "")) + "\n"


def yaml_stream(documents: Iterable[Mapping[str, Any]], comment: str = "") -> str:
    """Several documents, divided by `---`."""
    return commented(comment) + "---\n".join(yaml_text(document) for document in documents)


def commented(comment: str) -> str:
    """The lines of a text as a comment; nothing for no text."""
    return "".join(f"# {line}\n" if line else "#\n" for line in comment.splitlines())


def _mapping(value: Mapping[str, Any], indent: str) -> list[str]:
    if not value:
        return [f"{indent}{{}}"]
    lines: list[str] = []
    for key, item in value.items():
        lines += _entry(f"{indent}{_string(key)}:", item, indent + "  ")
    return lines


def _entry(head: str, item: Any, inside: str) -> list[str]:
    if isinstance(item, Mapping) and item:
        return [head, *_mapping(cast("Mapping[str, Any]", item), inside)]
    if isinstance(item, (list, tuple)) and item:
        # The hyphens stand under the key, as kubectl writes them.
        return [head, *_sequence(cast("Sequence[Any]", item), inside[:-2])]
    if isinstance(item, str) and _fits_a_block(item):
        return [f"{head} |", *(inside + line if line else "" for line in item.split("\n")[:-1])]
    return [f"{head} {_scalar(item)}"]


def _sequence(value: Sequence[Any], indent: str) -> list[str]:
    lines: list[str] = []
    for item in value:
        if isinstance(item, Mapping) and item:
            block = _mapping(cast("Mapping[str, Any]", item), indent + "  ")
            lines += [f"{indent}- {block[0].lstrip(' ')}", *block[1:]]
        elif isinstance(item, (list, tuple)) and item:
            block = _sequence(cast("Sequence[Any]", item), indent + "  ")
            lines += [f"{indent}- {block[0].lstrip(' ')}", *block[1:]]
        else:
            lines += _entry(f"{indent}-", item, indent + "  ")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _string(value)
    # Booleans, numbers, null, and empty lists and mappings are written as JSON writes them.
    return json.dumps(value)


def _string(text: str) -> str:
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _fits_a_block(text: str) -> bool:
    """Whether a literal block keeps the text: whole lines, nothing invisible, no blank ends."""
    if not text.endswith("\n") or text.endswith("\n\n") or text[0] in " \n":
        return False
    lines = text.split("\n")[:-1]
    return all(line == line.rstrip(" ") and not _BLOCK.sub("", line).strip(" ") for line in lines)
