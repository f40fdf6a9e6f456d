"""Reading fields of a model's configuration: many names for one thing, every problem collected.

Keys that were not understood: sizes that no formula reads are refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from gpufleet.findings import Finding, findings_in
from gpufleet.models.model_families import HARMLESS

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
        value = self.number(*names)
        noted = {one.path for one in self.findings}
        if value is None and not noted.intersection(f"{self.path}{name}" for name in names):
            self.say("config-field-missing", names[0], names=" or ".join(names))
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
        """Note, once, a value that the field cannot have."""
        shown = str(value)[:40]
        self.say("config-field-invalid", name, name=name, value=shown, wanted=wanted)

    def say(self, code: str, place: str = "", **known: Any) -> None:
        """Note a problem of the mapping, or of a place in it, once.

        Args:
            code: A row of `findings.jsonl` of this folder.
            place: Path inside the mapping.
            known: Facts in the row's texts.
        """
        noted = _finding(code, f"{self.path}{place}", **known)
        if noted not in self.findings:
            self.findings.append(noted)


_HARMLESS_PARTS = re.compile(
    r"token|rope|rotary|label|beam|version|softmax|chunk|time_step|topk|top_k|mtp|nextn|dropout|"
    r"(^|_)(bias|norm|scale|seed|init|id|ids|index|factor|multipliers?|parallel|kernels|freq|eps)(_|$)|"
    r"layernorm|^max_|max_length|max_seq|^num_(return|logits)|_loss_|^rescale|^torch|interval$|"
    r"indexer_rope|index_(share|skip)|scaling|capping|clip|std|temperature|penalty|decay|swiglu_limit"
)
_FLAGS = re.compile(r"gate|gating|share|tie|tying|double|wide|latent|expert|k_eq_v|per_layer")
_FLOATS = re.compile(r"ratio|ffn_mult|expan|width")
_DTYPES = re.compile(r"(fp|int|float)[48]|_e[245]m")


def not_understood(config: ConfigFields, family: str) -> list[Finding]:
    """An error for each key of one mapping that was not read and may change sizes."""
    return [
        _finding(
            "config-field-not-understood",
            f"{config.path}{name}",
            family=family,
            name=name,
            value=str(value)[:40],
        )
        for name, value in config.data.items()
        if name not in config.read and name not in HARMLESS and _may_change_sizes(name, value)
    ]


def _may_change_sizes(name: str, value: object) -> bool:
    if value is None or value is False or value in ("", 0) or value == [] or value == {}:
        return False
    if isinstance(value, str):
        if "pattern" in name:
            return not _HARMLESS_PARTS.search(name)
        return name.endswith("dtype") and _DTYPES.search(value) is not None
    if value is True:
        return _FLAGS.search(name) is not None and not _HARMLESS_PARTS.search(name)
    if isinstance(value, float):
        return _FLOATS.search(name) is not None and not _HARMLESS_PARTS.search(name)
    if isinstance(value, list) and all(
        isinstance(one, float) for one in cast("list[object]", value)
    ):
        return False
    return not _HARMLESS_PARTS.search(name)


def parts_not_understood(whole: ConfigFields) -> list[str]:
    """Parts of a model next to its language model that were not read: audio towers, resamplers."""
    return [
        name
        for name, value in whole.data.items()
        if name.endswith("_config")
        and name not in whole.read
        and name not in HARMLESS
        and isinstance(value, dict)
        and any(isinstance(one, int) for one in cast("dict[str, object]", value).values())
    ]
