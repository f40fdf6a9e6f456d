"""YAML the way NVIDIA's Go programs read it: sigs.k8s.io/yaml turns it into JSON first.

That reader differs from PyYAML and from a strict one: `yes`, `on` and `y` are booleans, `0o17` is a
number, `12:30` is text, keys of any type become text, a key written twice keeps its last value, and
only the first document of a stream counts. Sources: go.yaml.in/yaml/v2 v2.4.3 `resolve.go` and
`decode.go`, sigs.k8s.io/yaml v1.6.0 `yaml.go`. The size, depth and growth of what is read are
limited as for every other document (`gpufleet.spec.document`).
"""

import base64
import binascii
import math
import re
import struct
from dataclasses import dataclass
from typing import Any

import yaml

from gpufleet.contract.foreign.paths import child
from gpufleet.spec.document import MAX_BYTES, MAX_DEPTH, MAX_NODES

_yaml: Any = yaml  # PyYAML's type stubs leave most of what is used here unknown
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PLAIN = "plain"
_TAG = "tag:yaml.org,2002:"
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


class UnreadableTextError(ValueError):
    """The text is beyond the limits or no YAML at all, for NVIDIA's parser and for us."""


@dataclass(frozen=True, slots=True)
class Read:
    """One document as NVIDIA's programs see it."""

    data: Any
    """Plain JSON data; every mapping has text keys. None for an empty document."""
    repeated: tuple[str, ...] = ()
    """Paths of keys that are written more than once: all but the last are dropped."""
    more_documents: bool = False
    """Whether a second document follows, which nobody reads."""
    empty: bool = False
    """Whether the text holds nothing but white space and comments."""
    text: str | None = None
    """The text itself, for documents that must be JSON."""


class _Loader(_Base):
    """Builds nodes that still tell plain scalars from quoted ones: nothing is resolved yet."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _TAG + "str"
        return _TAG + ("seq" if kind is yaml.SequenceNode else "map")


def read_yaml(text: str | bytes) -> Read:
    """Read the first document of a YAML or JSON text.

    Raises UnreadableTextError, with the line, for text that is no UTF-8, larger than `MAX_BYTES`,
    nested deeper than `MAX_DEPTH`, grown by aliases beyond `MAX_NODES`, or malformed.
    """
    decoded = _decode(text)
    try:
        _check_depth(decoded)
        loader: Any = _Loader(decoded)
        try:
            if not loader.check_node():
                return Read(None, empty=True, text=decoded)
            node = loader.get_node()
            more = _follows(loader)
        finally:
            loader.dispose()
    except yaml.YAMLError as problem:
        raise UnreadableTextError(_yaml_problem(problem)) from None
    reading = _Reading()
    data = reading.value(node, "")
    return Read(data, tuple(dict.fromkeys(reading.repeated)), more, text=decoded)


def _decode(text: str | bytes) -> str:
    raw = text if isinstance(text, bytes) else text.encode("utf-8", errors="surrogateescape")
    if len(raw) > MAX_BYTES:
        limit = f"{len(raw)} bytes are more than the limit of {MAX_BYTES} (1 MiB)"
        raise UnreadableTextError(limit)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UnreadableTextError(f"byte {problem.start}: this is not UTF-8 text") from None


def _check_depth(text: str) -> None:
    depth = 0
    for event in _yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1
                raise UnreadableTextError(f"line {line}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentEndEvent):
            return


def _follows(loader: Any) -> bool:
    """Whether anything comes after the first document; what it is does not matter."""
    try:
        return bool(loader.check_node())
    except yaml.YAMLError:
        return True


def _yaml_problem(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return place + str(getattr(problem, "problem", None) or problem).replace("\n", " ")


@dataclass(slots=True)
class _Reading:
    """Turns nodes into data. Counts what aliases expand to."""

    repeated: list[str]
    nodes: int
    open: list[int]

    def __init__(self) -> None:
        self.repeated, self.nodes, self.open = [], 0, []

    def value(self, node: Any, path: str) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise UnreadableTextError(f"its aliases stand for more than {MAX_NODES} values")
        if isinstance(node, yaml.ScalarNode):
            return scalar(node.tag, str(node.value), node.start_mark.line + 1)
        if id(node) in self.open:
            raise UnreadableTextError(f"line {node.start_mark.line + 1}: an alias contains itself")
        self.open.append(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(n, child(path, i)) for i, n in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self.open.pop()

    def _mapping(self, node: Any, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        written: set[str] = set()
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                found.update(self._merged(value_node, path))
                continue
            key = self._key(key_node)
            if key in written:
                self.repeated.append(child(path, key))
            written.add(key)
            found[key] = self.value(value_node, child(path, key))
        return found

    def _merged(self, node: Any, path: str) -> dict[str, Any]:
        nodes: list[Any] = [node] if isinstance(node, yaml.MappingNode) else list(node.value)
        if not all(isinstance(one, yaml.MappingNode) for one in nodes):
            line = node.start_mark.line + 1
            raise UnreadableTextError(f"line {line}: only mappings can be merged with `<<`")
        found: dict[str, Any] = {}
        for one in reversed(nodes):
            found.update(self.value(one, path))
        return found

    def _key(self, node: Any) -> str:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.ScalarNode):
            raise UnreadableTextError(f"line {line}: a list or mapping cannot be a key")
        key = scalar(node.tag, str(node.value), line)
        if key is None:
            raise UnreadableTextError(f"line {line}: null cannot be a key")
        return key if isinstance(key, str) else as_text(key)


def _is_merge(node: Any) -> bool:
    return (
        isinstance(node, yaml.ScalarNode)
        and node.value == "<<"
        and node.tag in (_PLAIN, _TAG + "merge")
    )


def scalar(tag: str, text: str, line: int) -> bool | int | float | str | None:
    """The value of a scalar node; dates stay text.

    Raises UnreadableTextError when an explicit tag does not fit the text.
    """
    if tag == _TAG + "str":
        return text
    if tag == _TAG + "binary":
        try:
            return base64.b64decode(text, validate=False).decode("utf-8", errors="replace")
        except (binascii.Error, ValueError):
            raise UnreadableTextError(f"line {line}: !!binary holds no base64") from None
    if tag.startswith("!") or (tag.startswith(_TAG) and tag[len(_TAG) :] not in _KINDS):
        return text  # a tag of its own: the text stays as it is
    value = resolve(text)
    if tag == _PLAIN or (tag == _TAG + "timestamp" and _DATE.fullmatch(text)):
        return value
    wanted = _KINDS[tag[len(_TAG) :]]
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if (
        wanted is None
        or not isinstance(value, wanted)
        or (wanted is int and value in (True, False))
    ):
        if wanted is None and value is None:
            return None
        raise UnreadableTextError(f"line {line}: {text!r} is no {tag.removeprefix(_TAG)}")
    return value


_KINDS: dict[str, type | None] = {
    "bool": bool,
    "int": int,
    "float": float,
    "null": None,
    "timestamp": str,
}


def resolve(text: str) -> bool | int | float | str | None:
    """What an untagged plain scalar stands for."""
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
            value = int(match[group], base)
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
