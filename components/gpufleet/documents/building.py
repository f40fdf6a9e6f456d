"""Nodes to plain data, the same way in every mode: aliases and merge keys written out, bounded."""

from collections.abc import Callable
from typing import Any, cast

from gpufleet.documents.go_scalars import as_text
from gpufleet.documents.limits import Limits, UnreadableDocumentError
from gpufleet.documents.nodes import (
    MappingNode,
    ScalarNode,
    SequenceNode,
    is_merge,
    line_of,
    too_deep,
)

Scalar = Callable[[str, str], Any]
"""The value of a scalar by tag and text. Raises UnreadableDocumentError, which gets its line."""


class DataBuilder:
    """Builds the data of one document. Every mapping has text keys; the last entry of a key counts.

    Merge keys take effect where they are written, as in go.yaml.in/yaml/v2.
    """

    __slots__ = ("_check", "_limits", "_null_keys", "_open", "_scalar", "_values")

    def __init__(
        self,
        limits: Limits,
        scalar: Scalar,
        *,
        check: Callable[[Any], None] | None = None,
        null_keys: bool = False,
    ) -> None:
        """`check` may refuse the node of a list or mapping, or reorder it, before it is built.
        `null_keys` takes null as a key by the text it is written with."""
        self._limits = limits
        self._scalar = scalar
        self._check = check
        self._null_keys = null_keys
        self._values = 0
        self._open: set[int] = set()

    def data(self, node: Any, depth: int = 0) -> Any:
        """The data of a node. Raises UnreadableDocumentError with its line."""
        if type(node) is ScalarNode:
            return self._value(node)
        self._values += len(node.value)
        if self._values > self._limits.values:
            raise UnreadableDocumentError(
                f"line {line_of(node)}: its aliases represent more than {self._limits.values} "
                "values: write it without aliases"
            )
        if depth >= self._limits.depth:
            raise too_deep(node, self._limits)
        if id(node) in self._open:
            raise UnreadableDocumentError(f"line {line_of(node)}: an alias contains itself")
        if self._check is not None:
            self._check(node)
        self._open.add(id(node))
        if type(node) is MappingNode:
            built: Any = self._mapping(node, depth + 1)
        else:
            built = [self.data(item, depth + 1) for item in node.value]
        self._open.discard(id(node))
        return built

    def key(self, node: Any) -> str:
        """The text of a key. Raises UnreadableDocumentError with its line."""
        if type(node) is not ScalarNode:
            raise UnreadableDocumentError(
                f"line {line_of(node)}: a list or mapping cannot be a key"
            )
        key = self._value(node)
        if isinstance(key, str):
            return key
        if isinstance(key, bool | int | float):
            return as_text(key)
        if key is None and not self._null_keys:
            raise UnreadableDocumentError(f"line {line_of(node)}: null cannot be a key")
        return str(node.value)

    def _value(self, node: Any) -> Any:
        try:
            return self._scalar(node.tag, node.value)
        except UnreadableDocumentError as problem:
            raise UnreadableDocumentError(f"line {line_of(node)}: {problem}") from None

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            if is_merge(key):
                found.update(self._merged(value, depth))
            elif type(value) is ScalarNode:  # most are: a call less for each
                found[self.key(key)] = self._value(value)
            else:
                found[self.key(key)] = self.data(value, depth)
        return found

    def _merged(self, node: Any, depth: int) -> dict[str, Any]:
        """The entries of a merge key; of a list of mappings the first has precedence."""
        nodes = node.value if type(node) is SequenceNode else [node]
        found: dict[str, Any] = {}
        for one in reversed(cast("list[Any]", nodes)):
            if type(one) is not MappingNode:
                raise UnreadableDocumentError(
                    f"line {line_of(node)}: only mappings can be merged with `<<`"
                )
            found.update(self.data(one, depth))
        return found
