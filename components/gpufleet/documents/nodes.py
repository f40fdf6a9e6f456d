"""Text to the nodes of libyaml, with one wording for malformed text."""

import operator
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import yaml

from gpufleet.documents.go_scalars import PLAIN, STR, TAG
from gpufleet.documents.limits import Limits, UnreadableDocumentError

_yaml: Any = yaml  # PyYAML's type stubs leave most names used here unknown
_Base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
ScalarNode: Any = yaml.ScalarNode
MappingNode: Any = yaml.MappingNode
SequenceNode: Any = yaml.SequenceNode

_SAFE_NESTING = 2_000
"""Nesting that libyaml's recursion takes without harm; far more ends the process."""


class NodeReader(_Base):
    """Builds nodes that only distinguish plain scalars from quoted ones; nothing is resolved.

    Where the text writes no tag, the tag of a node is PLAIN, or STR for a quoted scalar.
    """

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        """The tag of a node that is written without one."""
        return STR if kind is ScalarNode and not implicit[0] else PLAIN

    # Paths choose no tags here: functions of C without effect, as these two run for every node.
    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(tuple)


def line_of(node: Any) -> int:
    """The line a node starts in, from 1."""
    return node.start_mark.line + 1


def is_merge(key: Any) -> bool:
    """Whether the key of an entry is `<<`."""
    return type(key) is ScalarNode and key.value == "<<" and key.tag in (PLAIN, TAG + "merge")


def open_reader(text: str, limits: Limits) -> Any:
    """A NodeReader of a text whose nesting libyaml can take. Raises as `readable` does."""
    _check_nesting(text, limits)
    return NodeReader(text)


_PLAIN_WORDS = {
    "did not find expected '-' indicator": "this line begins neither an item of the list (`- `) "
    "nor in the column of the keys above it: indent it as they are",
    "did not find expected key": "this line is not indented as the keys above it",
    "mapping values are not allowed in this context": "a `:` is not allowed here: indent this line "
    "as the key above it, or put a text that holds `: ` in quotes",
    "could not find expected ':'": "a `:` with a space after it is missing after this key",
    "did not find expected ',' or '}'": "a `,` or the `}` is missing; a text that holds one of "
    "`{ } [ ] ,` is written in quotes",
    "did not find expected ',' or ']'": "a `,` or the `]` is missing; a text that holds one of "
    "`{ } [ ] ,` is written in quotes",
    "did not find expected node content": "a value is missing or not complete here; a text that "
    "begins with `{`, `[` or `,` is written in quotes",
    "found character that cannot start any token": "a tab, `@`, `%` or a backtick cannot begin "
    "this line or value: indent with spaces, and put such a text in quotes",
    "found undefined alias": "`*` refers to a value with `&` that is not there: put a text that "
    "begins with `*` in quotes",
}
"""Message of libyaml -> proposed fix."""


def as_reported(problem: str, mark: Any) -> str:  # noqa: ARG001
    """The message of libyaml, reworded if it names only a token."""
    return _PLAIN_WORDS.get(problem, problem)


@contextmanager
def readable(explain: Callable[[str, Any], str] = as_reported) -> Generator[None]:
    """Raise errors of libyaml as UnreadableDocumentError, with line and column.

    `explain` may replace the words of libyaml; it gets them and their mark, None without one.
    """
    try:
        yield
    except yaml.YAMLError as error:
        problem: Any = error
        mark = getattr(problem, "problem_mark", None)
        if getattr(problem, "problem", None) == "could not find expected ':'":
            mark = problem.context_mark  # where the key is, not the line after it
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        words = getattr(problem, "problem", None) or str(problem).partition('\n  in "<')[0]
        explained = explain(str(words).replace("\n", " "), mark)
        raise UnreadableDocumentError(place + explained) from None


def _check_nesting(text: str, limits: Limits) -> None:
    """Refuse nesting that would end the process in libyaml's recursion.

    Brackets and the longest line are enough for most texts; the others are read as events.
    """
    longest = max(map(len, text.splitlines()), default=0)
    if text.count("[") + text.count("{") + longest < _SAFE_NESTING:
        return
    depth = 0
    for event in _yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > limits.depth:
                raise too_deep(event, limits)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def too_deep(place: Any, limits: Limits) -> UnreadableDocumentError:
    """The error for a node or event below the deepest level that is read."""
    return UnreadableDocumentError(
        f"line {line_of(place)}: nested deeper than {limits.depth} levels"
    )
