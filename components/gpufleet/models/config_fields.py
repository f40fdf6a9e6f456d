"""Reading fields of a model's configuration: many names for one thing, every problem collected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)

MAX_COUNT = 1 << 34
"""Largest number a configuration may hold where a size is expected."""


def _agreed(value: object) -> object:
    """The number of a list with one for each layer, where all layers agree (Hunyuan)."""
    if not isinstance(value, list):
        return value
    each = cast("list[object]", value)
    return each[0] if each and all(one == each[0] for one in each) else each


@dataclass
class ConfigFields:
    """One mapping of a configuration and the problems found in it so far."""

    data: Mapping[str, Any]
    path: str = ""
    findings: list[Finding] = field(default_factory=list[Finding])
    read: set[str] = field(default_factory=set[str])
    """Names that were read, present or not."""

    def value(self, name: str) -> object:
        """Value of this name in the configuration; None: the name is absent."""
        self.read.add(name)
        return self.data.get(name)

    def part(self, name: str) -> "ConfigFields | None":
        """A nested mapping with the same list of findings; None if it is absent, or is not a
        mapping, which is reported."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.refuse(name, value, "an object with fields")
            return None
        inner = cast("Mapping[str, Any]", value)
        return ConfigFields(inner, f"{self.path}{name}.", self.findings)

    def has(self, *names: str) -> bool:
        """Whether any of the names has a value."""
        self.read.update(names)
        return any(self.data.get(name) is not None for name in names)

    def number(self, *names: str, least: int = 1) -> int | None:
        """The first of the names that has a value, as an integer of at least `least`.

        None if no name has a value, or the value is not such a number, which is reported.
        """
        for name in names:
            value = _agreed(self.value(name))
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                self.refuse(name, value, f"a whole number of at least {least}")
                return None
            if not least <= value <= MAX_COUNT:
                self.refuse(name, value, f"between {least} and {MAX_COUNT}")
                return None
            return value
        return None

    def required(self, *names: str) -> int:
        """Like `number`, but its absence is reported; then returns 1, so that reading continues."""
        before = len(self.findings)
        value = self.number(*names)
        if value is None and len(self.findings) == before:
            self.findings.append(
                _finding("config-field-missing", f"{self.path}{names[0]}", names=" or ".join(names))
            )
        return value or 1

    def flag(self, name: str) -> bool | None:
        """A true or false value; None: absent or another type."""
        value = self.value(name)
        return value if isinstance(value, bool) else None

    def text(self, *names: str) -> str:
        """The text of the first name that has one; empty: no name has a text."""
        for name in names:
            value = self.value(name)
            if isinstance(value, str):
                return value
        return ""

    def texts(self, name: str) -> list[str] | None:
        """A list of texts; None if it is absent, or is not a list, which is reported."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.refuse(name, value, "a list of names")
            return None
        return [str(item) for item in cast("list[object]", value)]

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers; empty: absent."""
        value = self.value(name)
        if not isinstance(value, list):
            return []
        return [item for item in cast("list[object]", value) if isinstance(item, int)]

    def refuse(self, name: str, value: object, wanted: str) -> None:
        """Note, once, a value that cannot be what stands there."""
        noted = _finding(
            "config-field-invalid",
            f"{self.path}{name}",
            name=name,
            value=str(value)[:40],
            wanted=wanted,
        )
        if noted not in self.findings:
            self.findings.append(noted)
