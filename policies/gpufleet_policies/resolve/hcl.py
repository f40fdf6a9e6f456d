"""Text of HCL (`.tf`) as blocks of literal values: computed values are UNKNOWN.

Supported are blocks, attributes, texts, numbers, booleans, lists, objects, heredocs, `toset`,
`tostring`, `jsonencode`, `yamldecode` and the like of literals, `file` of a text, and references to
what the caller knows, and to `path.module`. Every other expression is UNKNOWN.

Source: hashicorp/hcl hclsyntax/spec.md.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet_policies.names import names

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)|(?P<line>\n)|(?P<here><<-?(?P<end>\w+)\n)|"
    r'(?P<text>"(?:[^"\\$%]|\\.|\$\$\{|%%\{|\$(?!\{)|%(?!\{)|[$%]\{(?:[^{}"]|"[^"]*"|\{[^{}]*\})*\})*")|'
    r"(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_][\w-]*)|(?P<sign>.)",
    re.DOTALL,
)
_LITERAL_CALLS = frozenset(names("function of literals in HCL"))
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_EXPRESSION = re.compile(r"(?<!\$)\$\{(?:[^{}]|\{[^{}]*\})*\}")
_REFERENCE = re.compile(r"(?<!\$)\$\{\s*([a-z]\w*(?:\.[\w-]+|\[\d+\])+)\s*\}")
INSERTED = "__INSERTED__"
"""Replacement of an expression in a text of several lines."""
_DEEPEST = 60


class FilePath(str):
    """Path of the file that has the text of a value: `file("a.yaml")`."""

    __slots__ = ()


class HclError(ValueError):
    """A text that is not HCL; the message has the line."""


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a text."""

    kind: str
    text: str
    line: int


@dataclass(slots=True)
class Block:
    """A block, or the whole file: its labels, attributes and blocks below."""

    kind: str
    labels: tuple[str, ...] = ()
    line: int = 1
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Name -> literal value, or UNKNOWN."""
    lines: dict[str, int] = field(default_factory=dict[str, int])
    blocks: list["Block"] = field(default_factory=list["Block"])


def read_hcl(text: str, known: Mapping[str, Any] | None = None) -> Block:
    """The blocks of a file. `known` has the values of references: `var.NAME`. Raises HclError."""
    reader = _Reader(_tokens(text), known or {})
    whole = Block("")
    reader.body(whole, 0, until="")
    return whole


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None
        kind, piece, at = str(match.lastgroup), match[0], match.end()
        if match["here"]:
            end = re.compile(rf"^[ \t]*{match['end']}[ \t]*$", re.MULTILINE).search(text, at)
            if end is None:
                raise HclError(f"line {line}: the text of <<{match['end']} does not end")
            body = text[at : end.start()]
            found.append(Token("heredoc", body, line))
            line += piece.count("\n") + body.count("\n")
            at = end.end()
            continue
        if kind != "space":
            found.append(Token(kind, piece, line))
        line += piece.count("\n")
    return found


class _Reader:
    def __init__(self, tokens: list[Token], known: Mapping[str, Any]) -> None:
        self._tokens = tokens
        self._known = {"path.module": ".", **known}
        self._at = 0

    def _peek(self) -> Token:
        if self._at < len(self._tokens):
            return self._tokens[self._at]
        return Token("end", "", self._tokens[-1].line if self._tokens else 1)

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _lines(self) -> None:
        while self._peek().kind == "line":
            self._at += 1

    def body(self, block: Block, depth: int, *, until: str) -> None:
        """Attributes and blocks up to a sign, or the end of the text."""
        while True:
            self._lines()
            token = self._next()
            if token.text == until or (token.kind == "end" and not until):
                return
            if token.kind not in ("name", "text") or depth > _DEEPEST:
                raise HclError(f"line {token.line}: {token.text!r} begins no attribute or block")
            name = token.text.strip('"')
            if self._peek().text == "=":
                self._at += 1
                block.attributes[name] = self._expression(depth)
                block.lines[name] = token.line
                continue
            labels: list[str] = []
            while self._peek().kind in ("text", "name"):
                labels.append(self._next().text.strip('"'))
            opened = self._next()
            if opened.text != "{":
                raise HclError(f"line {opened.line}: {opened.text!r} where a block begins")
            below = Block(name, tuple(labels), token.line)
            self.body(below, depth + 1, until="}")
            block.blocks.append(below)

    def _expression(self, depth: int) -> Any:
        """One value; UNKNOWN where operators, functions or references follow it."""
        value = self._primary(depth)
        if self._ends():
            return value
        self._skip()
        return UNKNOWN

    def _ends(self) -> bool:
        token = self._peek()
        return token.kind in ("line", "end") or token.text in (",", "]", "}", ")")

    def _skip(self) -> None:
        """Pass over the rest of an expression."""
        open_signs = 0
        while True:
            token = self._peek()
            if token.kind == "end" or (not open_signs and self._ends()):
                return
            open_signs += token.text in ("(", "[", "{")
            open_signs -= token.text in (")", "]", "}")
            self._at += 1

    def _primary(self, depth: int) -> Any:
        token = self._next()
        if depth > _DEEPEST:
            raise HclError(f"line {token.line}: more than {_DEEPEST} levels")
        if token.kind == "text":
            return self._text(token.text)
        if token.kind == "heredoc":
            return UNKNOWN if "%{" in token.text else _EXPRESSION.sub(INSERTED, token.text)
        if token.kind == "number":
            number = float(token.text)
            return int(number) if number.is_integer() else number
        if token.text == "[":
            return self._list(depth)
        if token.text == "{":
            return self._object(depth)
        if token.kind == "name":
            return self._named(token, depth)
        self._at -= 1
        self._skip()
        return UNKNOWN

    def _named(self, token: Token, depth: int) -> Any:
        fixed = {"true": True, "false": False, "null": None}
        if token.text in fixed:
            return fixed[token.text]
        following = self._peek()
        if following.text == "(" and token.text in (*_LITERAL_CALLS, "file"):
            self._at += 1
            self._lines()
            value = self._expression(depth + 1)
            self._lines()
            if self._peek().text == ")":
                self._at += 1
                if token.text == "file":
                    return FilePath(value) if isinstance(value, str) else UNKNOWN
                return UNKNOWN if isinstance(value, FilePath) else value
            return UNKNOWN
        start, path = self._at, token.text
        while self._peek().kind != "end" and (
            self._peek().text in (".", "[") or path[-1] in ".[" or path.count("[") > path.count("]")
        ):
            path += self._next().text
        path = path.replace(".0.", "[0].")  # as Terraform 0.11 wrote it
        if path not in self._known:
            self._at = start  # an index may be an expression
        return self._known.get(path, UNKNOWN)

    def _text(self, written: str) -> Any:
        parts = [_text(one) for one in _REFERENCE.split(written[1:-1])]
        parts[1::2] = [self._known.get(str(one), UNKNOWN) for one in parts[1::2]]
        if any(type(one) not in (str, int) for one in parts):
            return UNKNOWN
        return "".join(map(str, parts))

    def _list(self, depth: int) -> Any:
        found: list[Any] = []
        self._lines()
        if self._peek().text == "for":
            self._skip_to("]")
            return UNKNOWN
        while self._peek().text != "]":
            if self._peek().text in (")", "}", ","):
                raise HclError(f"line {self._peek().line}: {self._peek().text!r} in a list")
            found.append(self._expression(depth + 1))
            self._separated("]")
        self._at += 1
        return found

    def _object(self, depth: int) -> Any:
        found: dict[str, Any] = {}
        self._lines()
        if self._peek().text == "for":
            self._skip_to("}")
            return UNKNOWN
        while self._peek().text != "}":
            key = self._next()
            if key.text == "(":
                self._skip_to(")")
            if self._next().text not in ("=", ":"):
                raise HclError(f"line {key.line}: {key.text!r} is not a key of an object")
            value = self._expression(depth + 1)
            if key.kind in ("name", "text", "number"):
                found[key.text.strip('"')] = value
            self._separated("}")
        self._at += 1
        return found

    def _separated(self, end: str) -> None:
        before = self._at
        self._lines()
        if self._peek().text == ",":
            self._at += 1
            self._lines()
        elif self._peek().kind == "end" or (self._peek().text != end and self._at == before):
            raise HclError(f"line {self._peek().line}: {end!r} is missing")

    def _skip_to(self, end: str) -> None:
        """Pass over everything up to a sign that closes what is open."""
        open_signs = 0
        while open_signs or self._peek().text != end:
            token = self._next()
            if token.kind == "end":
                raise HclError(f"line {token.line}: {end!r} is missing")
            open_signs += token.text in ("(", "[", "{")
            open_signs -= token.text in (")", "]", "}")
        self._at += 1


def _text(bare: str) -> Any:
    plain = bare.replace("$${", "").replace("%%{", "")
    if "${" in plain or "%{" in plain:
        return UNKNOWN
    bare = bare.replace("$${", "${").replace("%%{", "%{")
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), bare)
