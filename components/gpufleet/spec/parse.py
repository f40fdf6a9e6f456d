"""From plain data to a FleetSpec: every structural problem at once, as findings."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gpufleet.documents.quantities import quantity
from gpufleet.findings import Finding, error
from gpufleet.messages import shown_value
from gpufleet.spec.cluster import OPENSHIFT_BEHIND
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.misplaced import keys_at, misplaced_key, misplaced_value, wanted_form
from gpufleet.spec.missing_keys import missing_key
from gpufleet.spec.secrets import validate_secrets

_PLAIN = (str, int, float, bool, type(None), Decimal, date, datetime)
_MOST_DIGITS = 19
"""Of a 64-bit number, which no field of a declaration exceeds."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read of a declaration."""

    spec: FleetSpec | None
    """The declaration, or None when it has a structural problem."""
    readable: FleetSpec | None
    """The declaration without the pools and sections that have one, so that the rest can still be
    validated in the same run; None when nothing is left to validate."""
    pool_index: tuple[int, ...]
    """For each pool of `readable`: its place in the file."""
    findings: tuple[Finding, ...]


def parse(data: Mapping[str, Any]) -> Parsed:
    """Read plain data (as YAML or JSON gives it) as a FleetSpec. Never raises for bad input."""
    foreign = tuple(_foreign_values(data, ""))
    if foreign:
        return Parsed(None, None, (), foreign)
    secrets = tuple(validate_secrets(data))
    try:
        spec = FleetSpec.model_validate(data)
    except ValidationError as problem:
        findings = tuple(_findings(problem, data))
        readable, index = _without(data, problem)
        return Parsed(None, readable, index, findings + secrets)
    everything = tuple(range(len(spec.pools)))
    return Parsed(None if secrets else spec, spec, everything, secrets)


def _foreign_values(value: object, path: str) -> list[Finding]:
    """Values no file can hold: an Output of a program, above all."""
    if isinstance(value, Mapping):
        found: list[Finding] = []
        for key, item in cast("Mapping[object, object]", value).items():
            found += _foreign_values(item, f"{path}.{key}" if path else str(key))
        return found
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        found = []
        for index, item in enumerate(cast("Sequence[object]", value)):
            found += _foreign_values(item, f"{path}[{index}]")
        return found
    if isinstance(value, _PLAIN):
        return []
    kind = type(value).__name__
    if kind in {"Output", "Unknown"}:  # Unknown: an Output inside a component host
        return [
            error(
                "spec-holds-output",
                path,
                "the value is a Pulumi Output, which is not known before deployment",
                "the spec is plain data: pass values that other resources produce in `connection`",
                type=kind,
            )
        ]
    return [
        error(
            "spec-value-foreign",
            path,
            f"the value has type {kind}; a spec holds only text, numbers, booleans, times, lists "
            "and mappings",
            type=kind,
        )
    ]


def _without(
    data: Mapping[str, Any], problem: ValidationError
) -> tuple[FleetSpec | None, tuple[int, ...]]:
    """The same declaration less the pools and sections that could not be read."""
    bad_pools: set[int] = set()
    kept = dict(data)
    for detail in problem.errors(include_url=False, include_input=False, include_context=False):
        place = detail["loc"]
        if len(place) > 1 and place[0] == "pools" and isinstance(place[1], int):
            bad_pools.add(place[1])
        elif place:
            kept.pop(str(place[0]), None)
    pools: object = kept.get("pools")
    if not isinstance(pools, list):
        return None, ()
    good = [(i, pool) for i, pool in enumerate(cast("list[Any]", pools)) if i not in bad_pools]
    kept["pools"] = [pool for _, pool in good]
    try:
        return FleetSpec.model_validate(kept), tuple(i for i, _ in good)
    except ValidationError:
        return None, ()


def _findings(problem: ValidationError, data: Mapping[str, Any]) -> list[Finding]:
    details = problem.errors(include_url=False)
    places = [detail["loc"] for detail in details]
    by_path: dict[str, Finding] = {}
    for detail in details:
        if detail["type"] == "too_short" and any(
            len(place) > len(detail["loc"]) and place[: len(detail["loc"])] == detail["loc"]
            for place in places
        ):
            continue  # its entries are there, and each has a finding of its own
        finding = _finding(detail, data)
        known = by_path.get(finding.path)
        if known is None:
            by_path[finding.path] = finding
        else:  # one value that fits no member of a union: one finding, both reasons
            fix = known.fix or finding.fix
            message = f"{known.message}; {finding.message}"
            by_path[finding.path] = replace(known, message=message, fix=fix)
    return list(by_path.values())


def _folded(word: str) -> str:
    return re.sub("[^a-z0-9]", "", word.lower())


def _finding(detail: ErrorDetails, data: Mapping[str, Any]) -> Finding:
    place = _real_place(detail["loc"], data)
    path = _written(place)
    value: object = detail.get("input")
    context: dict[str, Any] = dict(detail.get("ctx") or {})
    kind = detail["type"]
    found = shown_value(value)
    if kind == "extra_forbidden":
        return _unknown_key(place, path, str(detail["loc"][-1]), data)
    if kind == "missing":
        return missing_key(path)
    if kind in {"enum", "literal_error"}:
        allowed = re.findall(r"'([^']*)'|(\b\d+\b)", str(context.get("expected", "")))
        names = [a or b for a, b in allowed]
        # Platforms have names of one form, `aks` and `eks`: only a slip of the pen is near.
        likeness = 0.8 if path == "platform" else 0.4
        # Clouds write `NO_SCHEDULE` where Kubernetes writes `NoSchedule`.
        near = [name for name in names if _folded(name) == _folded(str(value))]
        near = near or difflib.get_close_matches(str(value), names, 1, likeness)
        fix = f"nearest: {near[0]}" if near else None
        if fix is None and path == "platform":
            fix = "write `existing` for nodes that another tool has made"
        return error(
            "spec-value-unknown",
            path,
            f"{found} is none of {', '.join(names)}",
            fix,
            found=found,
            allowed=names,
        )
    if kind in _BOUNDS:
        word, key = _BOUNDS[kind]
        limit = context.get(key)
        return error(
            "spec-value-out-of-range",
            path,
            f"{found} is not {word} {limit}",
            f"write {_nearest(kind, limit)}",
            found=found,
            limit=str(limit),
        )
    if kind in {"too_long", "too_short", "string_too_long", "string_too_short"}:
        limit = context.get("max_length", context.get("min_length"))
        word = "at most" if "max_length" in context else "at least"
        length = context.get("actual_length", len(value) if isinstance(value, str) else 0)
        unit = "characters" if kind.startswith("string") else "entries"
        return error(
            "spec-length-out-of-range",
            path,
            f"{length} {unit} found, {word} {limit} allowed",
            found=length,
            limit=limit,
        )
    if kind == "string_pattern_mismatch":
        return error(
            "spec-value-malformed",
            path,
            f"{found} does not have the form {context.get('pattern')}",
            _form_hint(place, value, str(context.get("pattern"))),
            found=found,
            pattern=context.get("pattern"),
        )
    message = detail["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return error("spec-value-inconsistent", path, message, found=found)
    if kind == "string_type" and isinstance(value, (int, float)):
        return error(
            "spec-value-wrong-type",
            path,
            f"{found} is read as a {'truth value' if isinstance(value, bool) else 'number'}, and "
            "text is wanted",
            f'put it in quotes: "{found}"',
            found=found,
        )
    digits = len(value) if isinstance(value, str) and value.isdigit() else 0
    if kind == "int_type" and digits > _MOST_DIGITS:  # the reader leaves it as text
        return error(
            "spec-value-out-of-range",
            path,
            f"a number of {digits} digits is found, and at most {_MOST_DIGITS} are allowed",
            "write a smaller number",
            found=f"{digits} digits",
            limit=f"{_MOST_DIGITS} digits",
        )
    hint = _plain_hint(kind, place, value) or misplaced_value(place, value)
    wanted = _said(message.replace("Decimal input should be", "Input should be a number,"))
    hint = hint or wanted_form(place, wanted, value)
    return error("spec-value-wrong-type", path, f"found {found}: {wanted}", hint, found=found)


_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def _nearest(kind: str, limit: object) -> str:
    return f"{limit}" if kind.endswith("equal") else f"a value {_BOUNDS[kind][0]} {limit}"


def _said(message: str) -> str:
    said = message.removeprefix("Input should be ")
    if said == message:
        return message
    said = (
        said.split(" or instance of ")[0].removeprefix("a valid ").removeprefix("an ").split(",")[0]
    )
    return _PLAIN_WORDS.get(said, f"{said} is wanted")


_PLAIN_WORDS = {
    "decimal": "a number is wanted",
    "integer": "a whole number is wanted",
    "string": "text is wanted",
    "boolean": "true or false is wanted",
    "number": "a number is wanted",
    "tuple": "a list is wanted",
    "dictionary": "a mapping is wanted",
}


def _plain_hint(kind: str, place: tuple[str | int, ...], value: object) -> str | None:
    """The truth value that `yes`, or the number that `10Gi`, `"8"` or 0.25 of 100 percent
    represents; None: not known."""
    if kind == "bool_type":
        plain = " without quotes" if isinstance(value, str) else ""
        meant = (one for one, words in _WORDS.items() if str(value).lower() in words)
        return next((f"write {one}{plain}" for one in meant), None)
    if kind in {"float_type", "decimal_type"}:
        text = _DECIMAL.fullmatch(value) if isinstance(value, str) else None
        return f"write {text[1]} without quotes" if text else None
    if not kind.startswith("int"):
        return None
    key = str(place[-1]) if place else ""
    if isinstance(value, float) and key.endswith("Percentage") and 0 < value < 1:
        return f"write it in percent: {value * 100:.0f}"
    found = _NUMBER_AND_UNIT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    number, unit = found.groups()
    size = quantity(number + unit.removesuffix("B"))
    inside = next((n for end, n in _UNITS.items() if key.endswith(end)), None)
    if inside is None or not found[2]:
        plain = "" if found[2] else " without quotes"
        return f"write {number}{plain}" if number.isdigit() and len(number) < 20 else None
    whole = 0 if size is None else int(size / inside)
    return f"write {whole}: the unit is in the name" if whole else None


_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_DECIMAL = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*")
_WORDS = {
    "true": {"yes", "y", "on", "true", "t", "1"},
    "false": {"no", "n", "off", "false", "f", "0"},
}
"""YAML 1.1 reads most of them without quotes, with quotes they are text."""
_UNITS = {"Mib": 2**20, "Gib": 2**30}


def _form_hint(place: tuple[str | int, ...], value: object, pattern: str) -> str | None:
    """The nearest value of the wanted form, where one is obvious."""
    if not isinstance(value, str):
        return None
    duration = re.sub(
        r"\s*(m(?=in|$)|h(?=our|$)|d(?=ay|$))[a-z]*$", r"\1", value.strip()
    )  # 2 days, 90min
    for near in (value.strip().replace(",", "."), duration, f"all-{value}"):
        if re.search(pattern, near):
            return f"write {near}"
    if found := _OPENSHIFT.fullmatch(value) if place[-1:] == ("kubernetesVersion",) else None:
        return f'write "1.{int(found[1]) + OPENSHIFT_BEHIND}", the Kubernetes of OpenShift {value}'
    if pattern.startswith("^cr-"):
        return "write the id as AWS shows it: `cr-` and 17 hexadecimal digits"
    if pattern.startswith("^all-"):
        return "write all-balanced, or all- and a profile: all-1g.10gb"
    last = place[-1] if place else ""
    if last in {"name", "namePrefix", "environment", "team"}:
        near = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-").lstrip("0123456789-")[:40]
        return f"write {near}" if near and near != value else None
    if place and "devices" in place:
        return "profiles are written like 1g.10gb, 1g.10gb+me: lower case, compute then memory"
    return None


_OPENSHIFT = re.compile(r"4\.([0-9]{2})")


def _real_place(place: tuple[int | str, ...], data: object) -> tuple[int | str, ...]:
    """The place without the parts pydantic adds for unions and dictionary keys."""
    real: list[int | str] = []
    here: object = data
    for position, part in enumerate(place):
        if isinstance(here, Mapping) and isinstance(part, str):
            mapping = cast("Mapping[str, object]", here)
            if part in mapping:
                here = mapping[part]
            elif position < len(place) - 1 or part == "[key]":
                continue
            real.append(part)
        elif isinstance(here, (list, tuple)) and isinstance(part, int):
            items = cast("Sequence[object]", here)
            here = items[part] if part < len(items) else None
            real.append(part)
    return tuple(real)


def _at(data: object, place: tuple[str | int, ...]) -> object:
    """What is at a place of the data, all of which is there."""
    for part in place:
        data = cast("Any", data)[part]
    return data


def _written(place: tuple[int | str, ...]) -> str:
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", part):
            text += f'["{part}"]'
        else:
            text += f".{part}" if text else part
    return text


def _unknown_key(
    place: tuple[int | str, ...], path: str, key: str, data: Mapping[str, Any]
) -> Finding:
    allowed = keys_at(place[:-1])
    folded = {name.lower(): name for name in allowed}
    same = folded.get(key.lower().replace("_", "").replace("-", ""))
    near = (
        [same]
        if same is not None
        else difflib.get_close_matches(key, allowed, 1, 0.8)
        or [name for name in allowed if key.lower() in _words(name)]
        or difflib.get_close_matches(key, allowed, 1, 0.6)
    )
    nearest = near[0] if near else None
    other = None if same is not None else misplaced_key(place, _at(data, place[:-1]))
    fix = other or (f"nearest: {nearest}" if nearest else None)
    keys = ", ".join(allowed)
    return error(
        "spec-key-unknown",
        path,
        f"`{key}` is not a key here" if fix else f"`{key}` is not a key here; the keys are {keys}",
        fix or "remove it",
        allowed=allowed,
    )


def _words(name: str) -> list[str]:
    """The words of a key: `version` is one of `kubernetesVersion`."""
    return re.sub(r"([A-Z])", r" \1", name).lower().split()
