"""Source of each field of a built object: its own file, or a patch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufleet.documents.document import located_in_text
from gpufleet.documents.shapes import is_list, is_mapping
from gpufleet_policies.resolve.written_lines import Located

Steps = tuple[str | int, ...]
_IDENTITY = ("name", "containerPort", "mountPath", "port", "key", "topologyKey")
"""Keys by which an item of a list is found again in a patch."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A text that sets fields of an object."""

    file: str
    lines: Located
    data: Any
    """Its fields, as data."""
    under: Steps = ()
    """Place in the object that it is about; empty: the whole object."""
    at: Steps = ()
    """Place in its document."""

    def located(self, steps: Steps, built: Any) -> tuple[int, int]:
        """Number of steps of a path of the built object that it sets, and the line of the last."""
        if steps[: len(self.under)] != self.under:
            return 0, self.lines.line
        inside = _translated(steps[len(self.under) :], _below(built, self.under), self.data)
        depth, line = self.lines.located((*self.at, *inside))
        return max(0, depth - len(self.at)) + len(self.under), line


@dataclass(slots=True)
class Layers:
    """All texts that set fields of one built object, first its own."""

    data: Any
    layers: list[Layer] = field(default_factory=list[Layer])
    is_rendered: bool = False
    """Whether its own file is a template, which no patch fits."""

    @property
    def line(self) -> int:
        """Line of the object in its own file."""
        return self.layers[0].lines.located(self.layers[0].at)[1]

    @property
    def file(self) -> str:
        """Its own file."""
        return self.layers[0].file

    @property
    def is_changed(self) -> bool:
        """Whether more than its own file sets its fields."""
        return self.is_rendered or len(self.layers) > 1

    def located(self, steps: Sequence[str | int]) -> tuple[int, int]:
        """Number of written steps of a path, and the line of the last of them."""
        return self.placed(steps)[:2]

    def placed(self, steps: Sequence[str | int]) -> tuple[int, int, str]:
        """Number of written steps of a path, the line of the last of them, and its file.

        If several texts write the same field, the last one counts.
        """
        best = (0, self.line, self.file)
        for layer in self.layers:
            depth, line = layer.located(tuple(steps), self.data)
            if depth >= best[0] and depth:
                best = (depth, line, layer.file)
        return best


def _below(data: Any, steps: Steps) -> Any:
    for step in steps:
        if is_mapping(data):
            data = data.get(str(step))
        elif is_list(data) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def _translated(steps: Steps, built: Any, written: Any) -> Steps:
    """A path of the built object as a path of what is written, as far as it is there."""
    found: list[str | int] = []
    for step in steps:
        if is_list(built) and is_list(written) and isinstance(step, int):
            if step >= len(built):
                break
            at = _index(built[step], written)
            if at is None:
                break
            built, written = built[step], written[at]
            found.append(at)
        elif is_mapping(built) and is_mapping(written) and str(step) in written:
            built, written = built.get(str(step)), written[str(step)]
            found.append(step)
        else:
            break
    return tuple(found)


def _index(item: Any, written: list[Any]) -> int | None:
    for key in _IDENTITY:
        name = item.get(key) if is_mapping(item) else None
        if name is not None:
            same = [i for i, one in enumerate(written) if is_mapping(one) and one.get(key) == name]
            return same[0] if same else None
    return written.index(item) if item in written else None


@dataclass(frozen=True, slots=True)
class LinesOfText:
    """The lines of a text that a generator puts into an object."""

    text: str
    line: int = 1

    def located(self, steps: Any) -> tuple[int, int]:
        """Number of written steps of a path, and the line of the last of them."""
        return located_in_text(self.text, tuple(steps))
