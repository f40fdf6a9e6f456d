"""The YAML that most manifests are written in, read several times as fast as YAML as a whole.

Block mappings and sequences of plain and quoted scalars, literal text, short flow lists: one
regular expression takes each line apart, and a stack of indentations puts it together. Whatever
else a text holds (anchors, tags, merges, folded text, continued lines, tabs, templates, ...), none
of it is read here: `plain_documents` answers None, and `adapters.yaml_text` reads all of it. What
is read here reads there alike: the same data and the same lines (tests/policies/audit).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.documents.go_scalars import PLAIN, UnreadableTextError
from gpufleet_policies.facts.tristate import UNKNOWN
from gpufleet_policies.readers.plain import SENTINELS
from gpufleet_policies.readers.template_text import FILLED_IN
from gpufleet_policies.readers.yaml_document import Document, Known, scalar_value

MAX_TEXT = 1 << 20
"""Longer texts go the other way, whose limits on values and depth they could reach."""
MAX_OPEN = 60
"""Most collections inside one another."""

_LINE = re.compile(
    r"""^([ ]*)((?:-[ ]+)?)"""
    r"""(?:("[^"\\\n]*"|'[^'\n]*'|[A-Za-z0-9_./$][A-Za-z0-9_./$+-]*):(?:[ ]+|$))?(.*)$"""
)
_ODD = "[^\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_COMMON = bytes([10, *range(32, 127)])
_PLAIN = re.compile(r"(?:[A-Za-z0-9/._+~$(=<^;\\]|-(?![ -]|$)|--(?!-)|[:?](?! |$))")
_QUOTED = re.compile(
    r"""("[^"\\]*(?:\\["\\nt][^"\\]*)*"|'[^']*(?:''[^']*)*')[ ]*(?:(?<=[ ])#.*)?"""
)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
# An item ends with no blank: blanks after it can then be taken in one way only.
_ITEM = (
    r"""(?:"[^"\\]*"|'[^']*'|[A-Za-z0-9/._+$=](?:[A-Za-z0-9/._+$= -]*[A-Za-z0-9/._+$=-])?"""
    r"""|-[A-Za-z0-9-][A-Za-z0-9/._=-]*)"""
)
_FLOW_LIST = re.compile(rf"\[[ ]*({_ITEM}[ ]*(?:,[ ]*{_ITEM}[ ]*)*)?\][ ]*(?:(?<=[ ])#.*)?")
_FLOW_ITEM = re.compile(_ITEM)
_EMPTY_MAP = re.compile(r"\{[ ]*\}[ ]*(?:(?<=[ ])#.*)?")
_LITERAL = re.compile(r"\|(-?)[ ]*")

_NOTHING = object()
"""Stands for no value, which None is."""
_MORE = frozenset("[{|")
"""What begins more than a scalar."""
_MEMO_SIZE = 20_000
_LONGEST_KEY = 200
_LONGEST_LINE = 200
"""Longer lines are not worth remembering."""
_Part = tuple[int, int, str | None, Any]
"""Of one line: blanks before it, width of its dash, key, value."""
_EMPTY: _Part = (-1, 0, None, None)
_END: _Part = (-1, 1, None, None)
_parts: dict[str, _Part] = {}
_scalars: dict[str, Any] = {}
_keys: dict[str, Any] = {}


@dataclass(slots=True)
class _Place(Known):
    """A collection, or a scalar, and where everything in it is written."""

    lines: "dict[int, Any]"
    """Identity of a collection -> line of each of its keys or items."""
    value: Any

    def child(self, step: str | int) -> "tuple[int, _Place] | None":
        """Line and place of a part; None where it is not written."""
        value = self.value
        if type(value) is dict:
            line = self.lines[id(value)].get(str(step))
            return None if line is None else (line, _Place(self.lines, value[str(step)]))
        if type(value) is list and isinstance(step, int) and step < len(value):
            return self.lines[id(value)][step], _Place(self.lines, value[step])
        return None

    def located(self, steps: Sequence[str | int], line: int) -> tuple[int, int]:
        """As one `child` after the other."""
        value, lines = self.value, self.lines
        for depth, step in enumerate(steps):
            if type(value) is dict:
                found = lines[id(value)].get(str(step))
                if found is None:
                    return depth, line
                line, value = found, value[str(step)]
            elif type(value) is list and isinstance(step, int) and step < len(value):
                line, value = lines[id(value)][step], value[step]
            else:
                return depth, line
        return len(steps), line


class _Text:
    """A text after a key or dash that is read where it stands."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class _NotPlainError(Exception):
    """The text holds something that is not read here."""


def plain_documents(text: bytes) -> list[Document] | None:
    """Every document of a text that holds anything; None: it has to be read the other way."""
    if len(text) > MAX_TEXT or b"{{" in text:
        return None
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return None
    odd = text.translate(None, _COMMON) if decoded.isascii() else re.search(_ODD, decoded)
    if odd or FILLED_IN in decoded:
        return None
    try:
        return _Lines(decoded).documents()
    except _NotPlainError:
        return None


class _Lines:
    """The lines of one text, put together."""

    __slots__ = ("at", "lines", "text", "written")

    def __init__(self, text: str) -> None:
        self.text = text
        self.written = text.split("\n")
        self.at = 0
        self.lines: dict[int, Any] = {}

    def documents(self) -> list[Document]:
        """Each from one `---` to the next."""
        found: list[Document] = []
        while self.at < len(self.written):
            document = self._document()
            if document is not None:
                found.append(document)
        return found

    def _document(self) -> Document | None:
        written, lines = self.written, self.lines
        top: Any = None
        first = 0
        indents: list[int] = []
        open_: list[Any] = []
        indent = -1  # of the innermost open collection
        inside: Any = None
        where: Any = None  # its lines
        pending: str | None = None  # its last key, whose value follows
        at = self.at
        try:
            while at < len(written):
                line = written[at]
                at += 1
                column, dash, name, value = _parts.get(line) or _part(line)
                if column < 0:
                    if dash:
                        break
                    continue
                if pending is not None and (column > indent or (dash and column == indent)):
                    made: Any = [] if dash else {}
                    inside[pending] = made
                    indents.append(column)
                    open_.append(made)
                    if len(open_) > MAX_OPEN:
                        raise _NotPlainError
                    indent, inside = column, made
                    where = lines[id(made)] = [] if dash else {}
                elif top is None:
                    top = inside = [] if dash else {}
                    first = at
                    indent = column
                    indents.append(column)
                    open_.append(top)
                    where = lines[id(top)] = [] if dash else {}
                elif column != indent or (type(inside) is list) is not (dash > 0):
                    kind = list if dash else dict
                    while indents and (indents[-1] > column or type(open_[-1]) is not kind):
                        if indents[-1] < column:
                            raise _NotPlainError
                        indents.pop()
                        open_.pop()
                    if not indents or indents[-1] != column:
                        raise _NotPlainError
                    indent, inside = column, open_[-1]
                    where = lines[id(inside)]
                pending = None
                if dash:
                    where.append(at)
                    if name is None:
                        if type(value) is _Text:
                            value, at = self._value(value.text, at, indent)
                        inside.append(value)
                        continue
                    made = {}
                    inside.append(made)
                    indent = column + dash
                    indents.append(indent)
                    open_.append(made)
                    inside = made
                    where = lines[id(made)] = {}
                where[name] = at
                if value is _NOTHING:
                    inside[name] = None
                    pending = name
                    continue
                if type(value) is _Text:
                    value, at = self._value(value.text, at, indent)
                inside[name] = value
        finally:
            self.at = at
        return None if top is None else Document(top, first, False, _Place(lines, top))

    def _value(self, rest: str, at: int, indent: int) -> tuple[Any, int]:
        """The list, mapping or literal text that follows a key or dash, and the row after it."""
        begin = rest[0]
        if begin == "[":
            return self._flow_list(rest, at), at
        if begin == "{":
            if not _EMPTY_MAP.fullmatch(rest):
                raise _NotPlainError
            made: dict[str, Any] = {}
            self.lines[id(made)] = {}
            return made, at
        return self._literal(rest, at, indent)

    def _flow_list(self, rest: str, at: int) -> list[Any]:
        match = _FLOW_LIST.fullmatch(rest)
        if match is None:
            raise _NotPlainError
        found = [_scalar(item) for item in _FLOW_ITEM.findall(match[1] or "")]
        self.lines[id(found)] = [at] * len(found)
        return found

    def _literal(self, rest: str, at: int, indent: int) -> tuple[Any, int]:
        """The lines after `|`; `at` is the row of the first."""
        match = _LITERAL.fullmatch(rest)
        if match is None or self.text[-1] != "\n":
            raise _NotPlainError
        written = self.written  # ends with an empty string: the text ends a line
        deep = len(written[at]) - len(written[at].lstrip(" "))
        if deep <= indent or deep == len(written[at]):
            raise _NotPlainError
        found: list[str] = []
        while at < len(written) - 1:
            line = written[at]
            bare = line.lstrip(" ")
            if len(line) - len(bare) >= deep:
                found.append(line[deep:])
            elif not bare:
                found.append("")
            else:
                break
            at += 1
        while found and not found[-1]:
            found.pop()
        value = "\n".join(found) + ("" if match[1] else "\n")
        return UNKNOWN if value in SENTINELS else value, at


def _part(line: str) -> _Part:
    """What one line says by itself; lines of manifests repeat, so most are taken apart once."""
    match = _LINE.match(line)
    assert match is not None  # every line matches
    spaces, dash, key, rest = match.groups()
    if not key and not dash:
        if rest and rest[0] != "#":
            if rest != "---" or spaces:
                raise _NotPlainError
            return _END
        found = _EMPTY
    else:
        found = (len(spaces), len(dash), _key(key) if key else None, _said(key, rest))
    if len(line) <= _LONGEST_LINE:
        if len(_parts) > _MEMO_SIZE:
            _parts.clear()
        _parts[line] = found
    return found


def _said(key: str | None, rest: str) -> Any:
    """The scalar of a line; _NOTHING: what follows its key, or nothing; _Text: more than that."""
    if key and (not rest or rest[0] == "#"):
        return _NOTHING
    if rest[:1] in _MORE:
        return _Text(rest)
    value = _scalars.get(rest, _NOTHING)
    if value is _NOTHING:
        if len(_scalars) > _MEMO_SIZE:
            _scalars.clear()
        value = _scalars[rest] = _scalar(rest)
    return value


def _key(written: str) -> str:
    if len(written) > _LONGEST_KEY:
        raise _NotPlainError
    name = written
    if written[0] in "\"'":
        name = written[1:-1]
    elif _plain(written) != written:
        raise _NotPlainError  # a boolean, a number, ...: it would be looked up by another name
    if len(_keys) > _MEMO_SIZE:
        _keys.clear()
    _keys[written] = name
    return name


def _scalar(rest: str) -> Any:
    if rest[:1] in ('"', "'"):
        match = _QUOTED.fullmatch(rest)
        if match is None:
            raise _NotPlainError
        quoted = match[1]
        inside = quoted[1:-1]
        if quoted[0] == "'":
            inside = inside.replace("''", "'")
        elif "\\" in inside:
            inside = _ESCAPE.sub(lambda found: _ESCAPED[found[1]], inside)
        return UNKNOWN if inside in SENTINELS else inside
    if not _PLAIN.match(rest):
        raise _NotPlainError
    written = rest.partition(" #")[0].rstrip(" ")
    if ": " in written or written[-1:] == ":":
        raise _NotPlainError
    return _plain(written)


def _plain(written: str) -> Any:
    try:
        return scalar_value(PLAIN, written, 0)
    except UnreadableTextError:
        raise _NotPlainError from None
