"""Plain data as YAML whose bytes depend on nothing but the data.

Block style, keys in the order given, no line breaking; strings that a reader of YAML 1.1 or 1.2
could interpret as another type are in double quotes.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import yaml

from gpufleet.documents.go_scalars import TAG

_yaml: Any = yaml  # PyYAML's type stubs leave most names used here unknown
_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words YAML 1.1 reads as booleans or nothing."""
_BLOCK = re.compile("[^ \\n\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


class OnOneLine(dict[str, Any]):
    """A mapping that is written as `{key: value}`."""


class ListOnOneLine(list[Any]):
    """A list that is written as `[item, item]`."""


class _Dumper(_Base):
    """Writes repeated objects in full: no anchors, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Every value."""
        return True


def _text(dumper: Any, text: str) -> Any:
    plain = _PLAIN.match(text) and text.lower() not in _WORDS
    style = "" if plain else "|" if _fits_a_block(text) else '"'
    return dumper.represent_scalar(TAG + "str", text, style=style)


def _number(dumper: Any, number: float) -> Any:
    """JSON's form if readers interpret it as a number: 0.5, but 1.0e+30."""
    written = json.dumps(number)
    if "e" in written and "." not in written:
        written = written.replace("e", ".0e")
    return dumper.represent_scalar(TAG + "float", written)


def _mapping(dumper: Any, data: Mapping[str, Any]) -> Any:
    return dumper.represent_mapping(TAG + "map", data.items(), flow_style=False)


def _mapping_on_one_line(dumper: Any, data: Mapping[str, Any]) -> Any:
    return dumper.represent_mapping(TAG + "map", data.items(), flow_style=True)


def _list(dumper: Any, data: Iterable[Any]) -> Any:
    return dumper.represent_sequence(TAG + "seq", data, flow_style=False)


def _list_on_one_line(dumper: Any, data: Iterable[Any]) -> Any:
    return dumper.represent_sequence(TAG + "seq", data, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _number)
_Dumper.add_representer(dict, _mapping)
_Dumper.add_representer(OnOneLine, _mapping_on_one_line)
_Dumper.add_representer(ListOnOneLine, _list_on_one_line)
_Dumper.add_multi_representer(str, _text)
_Dumper.add_multi_representer(Mapping, _mapping)
_Dumper.add_multi_representer(list, _list)
_Dumper.add_multi_representer(tuple, _list)


def yaml_text(document: Mapping[str, Any], comment: str = "") -> str:
    """One document, with an optional comment before it; ends in a line feed."""
    return commented(comment) + _yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30
    )


def inline_yaml(value: Any) -> str:
    """A value on one line, with the quotes of `yaml_text`: `{cpu: "4", memory: 1Gi}`."""
    text: str = _yaml.dump(_on_one_line([value]), Dumper=_Dumper, sort_keys=False, width=1 << 30)
    return text.strip().removeprefix("[").removesuffix("]")


def _on_one_line(value: Any) -> Any:
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return OnOneLine({key: _on_one_line(item) for key, item in entries.items()})
    if isinstance(value, list | tuple):
        return ListOnOneLine(_on_one_line(item) for item in cast("Sequence[Any]", value))
    return value


def yaml_stream(documents: Iterable[Mapping[str, Any]], comment: str = "") -> str:
    """Several documents, divided by `---`."""
    return commented(comment) + "---\n".join(yaml_text(document) for document in documents)


def commented(comment: str) -> str:
    """The lines of a text as a comment; nothing for no text."""
    return "".join(f"# {line}\n" if line else "#\n" for line in comment.splitlines())


def _fits_a_block(text: str) -> bool:
    """Whether a literal block keeps the text: whole lines, nothing invisible, no blank ends."""
    if not text.endswith("\n") or text.endswith("\n\n") or text[0] in " \n":
        return False
    lines = text.split("\n")[:-1]
    return all(line == line.rstrip(" ") and not _BLOCK.sub("", line).strip(" ") for line in lines)
