"""From plain data to a FleetSpec: every structural problem at once, as findings."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gpufleet.catalogue.edition import editions
from gpufleet.documents.paths import child
from gpufleet.documents.quantities import quantity
from gpufleet.findings import Finding, error
from gpufleet.messages import shown_value
from gpufleet.spec.base import Platform
from gpufleet.spec.cluster import OPENSHIFT_BEHIND
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.meant import folded, meant_key, meant_word
from gpufleet.spec.misplaced import keys_at, misplaced_key, wanted_form
from gpufleet.spec.secrets import validate_secrets

_PLAIN = (str, int, float, bool, type(None), Decimal, date, datetime)
_MOST_DIGITS = 19
"""Maximum digits of a number: those of 64 bits, which no field of a declaration exceeds."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The readable parts of a declaration."""

    spec: FleetSpec | None
    """The declaration, or None when it has a structural problem."""
    readable: FleetSpec | None
    """The declaration without the pools and sections that have one, so that the rest can be
    validated in the same run; None when nothing is left to validate."""
    pool_index: tuple[int, ...]
    """For each pool of `readable`: its index in the file."""
    findings: tuple[Finding, ...]


def parse(data: Mapping[str, Any]) -> Parsed:
    """Read plain data (from YAML or JSON) as a FleetSpec. Never raises for invalid input."""
    foreign = tuple(_foreign_values(data, "")) or tuple(_kubernetes_object(data))
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


def _foreign_values(value: object, path: str) -> Iterator[Finding]:
    """Values that a file cannot contain, such as an Output of a program."""
    kind = type(value).__name__
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            yield from _foreign_values(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for index, item in enumerate(cast("Sequence[object]", value)):
            yield from _foreign_values(item, f"{path}[{index}]")
    elif kind in {"Output", "Unknown"}:  # Unknown: an Output inside a component host
        message = "the value is a Pulumi Output, which is not known before deployment"
        fix = "the spec is plain data: pass values that other resources produce in `connection`"
        yield error("spec-holds-output", path, message, fix, type=kind)
    elif not isinstance(value, _PLAIN):
        held = "a spec holds only text, numbers, booleans, times, lists and mappings"
        yield error("spec-value-foreign", path, f"the value has type {kind}; {held}", type=kind)


def _kubernetes_object(data: Mapping[str, Any]) -> Iterator[Finding]:
    if {"apiVersion", "kind"} <= set(data) and "pools" not in data:
        message = f"this is a Kubernetes object ({shown_value(data['kind'])}), not a FleetSpec"
        fix = "`gpufleet audit FILE` validates objects, `gpufleet adopt FILE` reads a dump of them"
        yield error("spec-value-foreign", "kind", message, fix)


def _without(
    data: Mapping[str, Any], problem: ValidationError
) -> tuple[FleetSpec | None, tuple[int, ...]]:
    """The declaration without the pools and sections that could not be read."""
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
            continue  # its entries exist, and each has its own finding
        finding = _finding(detail, data)
        known = by_path.get(finding.path)
        if known is None:
            by_path[finding.path] = finding
        else:  # one value that matches no member of a union: one finding, both reasons
            fix = known.fix or finding.fix
            message = f"{known.message}; {finding.message}"
            by_path[finding.path] = replace(known, message=message, fix=fix)
    return list(by_path.values())


def _finding(detail: ErrorDetails, data: Mapping[str, Any]) -> Finding:
    place = _real_place(detail["loc"], data)
    path = reduce(child, place, "")
    if detail["type"] == "extra_forbidden":
        return _unknown_key(place, path, str(detail["loc"][-1]), data)
    if detail["type"] == "missing":
        return missing_key(path)
    code, message, fix, facts = _wrong_value(detail, place)
    return error(code, path, message, fix, **facts)


def _wrong_value(
    detail: ErrorDetails, place: tuple[int | str, ...]
) -> tuple[str, str, str | None, dict[str, Any]]:
    """Code, message, fix and facts of a value that its field does not accept."""
    value: object = detail.get("input")
    context: dict[str, Any] = dict(detail.get("ctx") or {})
    kind, found = detail["type"], shown_value(value)
    if kind in {"enum", "literal_error"}:
        names = [a or b for a, b in re.findall(r"'([^']*)'|(\b\d+\b)", context["expected"])]
        message = f"{found} is not one of {', '.join(names)}"
        fix = meant_word(str(place[-1]), str(value), names)
        return "spec-value-unknown", message, fix, {"found": found, "allowed": names}
    if kind in _BOUNDS:
        word, key = _BOUNDS[kind]
        limit = context.get(key)
        message = f"{found} is not {word} {limit}"
        fix = f"write {limit}" if kind.endswith("equal") else f"write a value {word} {limit}"
        return "spec-value-out-of-range", message, fix, {"found": found, "limit": str(limit)}
    if kind in {"too_long", "too_short", "string_too_long", "string_too_short"}:
        limit = context.get("max_length", context.get("min_length"))
        word = "at most" if "max_length" in context else "at least"
        length = context.get("actual_length", len(value) if isinstance(value, str) else 0)
        unit = "characters" if kind.startswith("string") else "entries"
        message, fix = f"{length} {unit} found, {word} {limit} allowed", f"write {word} {limit}"
        return "spec-length-out-of-range", message, fix, {"found": length, "limit": limit}
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        fix = _form_hint(place, value, pattern)
        message = f"{found} does not have the form {pattern}"
        return "spec-value-malformed", message, fix, {"found": found, "pattern": pattern}
    message = detail["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        message, _, fix = message.partition("; write ")
        fix = f"write {fix}" if fix else None
        return "spec-value-inconsistent", message, fix, {"found": found}
    if kind == "string_type" and isinstance(value, (int, float)):
        read_as = "truth value" if isinstance(value, bool) else "number"
        message = f"{found} is read as a {read_as}, and text is wanted"
        return "spec-value-wrong-type", message, f'put it in quotes: "{found}"', {"found": found}
    digits = len(value) if isinstance(value, str) and value.isdigit() else 0
    if kind == "int_type" and digits > _MOST_DIGITS:  # the reader leaves it as text
        message = f"a number of {digits} digits is found, and at most {_MOST_DIGITS} are allowed"
        facts = {"found": f"{digits} digits", "limit": f"{_MOST_DIGITS} digits"}
        return "spec-value-out-of-range", message, "write a smaller number", facts
    wanted = _said(message.replace("Decimal input should be", "Input should be a number,"))
    hint = _plain_hint(kind, place, value) or wanted_form(place, wanted, value)
    return "spec-value-wrong-type", f"found {found}: {wanted}", hint, {"found": found}


_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


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
    "datetime": "a time such as 2026-12-20T11:30:00Z is wanted",
    "datetime or date": "a day or a time such as 2026-12-20T11:30:00Z is wanted",
}


def _plain_hint(kind: str, place: tuple[str | int, ...], value: object) -> str | None:
    """The boolean for `yes`, or the number for `10Gi`, `"8"`, 0.25 of 100 percent or a list of
    GPUs; None: not known."""
    if kind == "bool_type":
        plain = " without quotes" if isinstance(value, str) else ""
        meant = (one for one, words in _WORDS.items() if str(value).lower() in words)
        return next((f"write {one}{plain}" for one in meant), None)
    if kind in {"float_type", "decimal_type", "decimal_parsing"}:
        text = _DECIMAL.fullmatch(value) if isinstance(value, str) else None
        return f"write {text[1]}{'' if text[2] else ' without quotes'}" if text else None
    if not kind.startswith("int"):
        return None
    key = str(place[-1]) if place else ""
    if isinstance(value, float) and key.endswith("Percentage") and 0 < value < 1:
        return f"write it in percent: {value * 100:.0f}"
    if isinstance(value, float) and abs(value) < 10**_MOST_DIGITS:  # no infinity, no NaN
        return f"write {math.floor(value)} or {math.ceil(value)}"
    found = _NUMBER_AND_UNIT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        indices = cast("list[object]", value) if key == "gpus" and isinstance(value, list) else []
        return f"write the number of GPUs: {len(indices)}" if indices else None
    number, unit = found.groups()
    size = quantity(number + unit.removesuffix("B"))
    inside = next((n for end, n in _UNITS.items() if key.endswith(end)), None)
    if inside is None or not found[2]:
        plain = "" if found[2] else " without quotes"
        return f"write {number}{plain}" if number.isdigit() and len(number) < 20 else None
    whole = 0 if size is None else int(size / inside)
    return f"write {whole}: the unit is in the name" if whole else None


_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_DECIMAL = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(USD(?:/h)?)?\s*")
_WORDS = {
    "true": {"yes", "y", "on", "true", "t", "1"},
    "false": {"no", "n", "off", "false", "f", "0"},
}
"""YAML 1.1 reads most of them without quotes, with quotes they are text."""
_UNITS = {"Mib": 2**20, "Gib": 2**30}


def _form_hint(place: tuple[str | int, ...], value: object, pattern: str) -> str | None:
    """The nearest value of the required form, if one is obvious."""
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
    if last == "kubernetesVersion" and (minor := re.match(r"v?(1\.[1-9][0-9])(?![0-9])", value)):
        return f'write "{minor[1]}"'
    if last == "catalogue":
        return missing_key("catalogue").fix
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


def _unknown_key(
    place: tuple[int | str, ...], path: str, key: str, data: Mapping[str, Any]
) -> Finding:
    allowed = keys_at(place[:-1])
    nearest = meant_key(place[:-1], key, allowed)
    same = nearest is not None and folded(nearest) == folded(key)
    other = None if same else misplaced_key(place, data)
    said = "nearest:" if nearest in allowed else "write"
    fix = other or (f"{said} {nearest}" if nearest else None)
    keys = ", ".join(allowed)
    return error(
        "spec-key-unknown",
        path,
        f"`{key}` is not a key here" if fix else f"`{key}` is not a key here; the keys are {keys}",
        fix or "remove it",
        allowed=allowed,
    )


# A key that a declaration needs and does not have, with what to write.

_NODES = "nodes: {min: 0, max: 4}"
_WRITTEN = {
    "cluster": "cluster: {name: NAME, region: REGION}",
    "nodes": _NODES,
    "pools": f"pools: [{{name: notebooks, gpu: L4, {_NODES}}}]",
}


def missing_key(path: str) -> Finding:
    """The finding, with an example value if one helps."""
    written = _WRITTEN.get(path.rpartition(".")[2])
    fix = f"write for example `{written}`" if written else f"add `{path}`"
    if path == "catalogue":
        fix = f'write `catalogue: "{editions()[-1]}"`, the newest edition that is installed'
    if path == "platform":
        fix = f"write `platform:` with one of {', '.join(Platform)}"
    return error("spec-key-missing", path, "this key is required and missing", fix)
