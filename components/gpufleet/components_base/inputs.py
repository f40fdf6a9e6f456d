"""The boundary of every component: from arguments to plain validated data or one clear error.

Arguments are TypedDicts in Python's spelling (`gpufleet.arguments`); the spelling of files is also
accepted. Type checkers detect a misspelt key, plain scripts and other languages do not; integers
arrive as floats from a component host. This module corrects both, once, before any resource is
registered.
"""

import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, reduce
from typing import Any, NoReturn, TypeVar, cast

import pulumi
from pulumi.output import Unknown
from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel as _to_camel

from gpufleet.documents.paths import child
from gpufleet.documents.shapes import rewritten
from gpufleet.environment import MOMENT, start_moment
from gpufleet.findings import Finding, FleetError, Severity, error
from gpufleet.spec.meant import folded, meant_key

Model = TypeVar("Model", bound=BaseModel)

to_camel = cache(_to_camel)
"""Arguments have some hundred names, and a fleet spells them again for each of its pools."""


class InvalidArgumentsError(pulumi.InputPropertiesError, pulumi.RunError):
    """Invalid arguments of a component: the text contains every finding.

    A component host transmits only the text of an exception, so all information is in it. As a
    RunError it ends a program without a traceback: the arguments are wrong, not the code that read
    them.
    """

    def __init__(self, component: str, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        errors = [f for f in self.findings if f.severity is Severity.ERROR]
        pulumi.InputPropertiesError.__init__(
            self,
            str(FleetError(self.findings, component)),
            [{"property_path": f.path, "reason": f.message} for f in errors],
        )


def refuse(component: str, findings: Iterable[Finding]) -> NoReturn:
    """End the construction of a component (`GpuFleet "fleet"`) with every finding in one error."""
    raise InvalidArgumentsError(component, findings)


def looked_at(component: str) -> datetime:
    """The time at which windows of capacity are evaluated: the component's start, unless
    GPUFLEET_AT gives another. Raises InvalidArgumentsError if its value is not valid."""
    try:
        return start_moment()
    except ValueError as problem:
        refuse(component, [error("moment-invalid", MOMENT, str(problem))])


def declared(component: str, args_type: type, args: Mapping[str, object]) -> dict[str, Any]:
    """The arguments in the spelling of files, camelCase, with integers as int.

    Free mappings (labels, Helm values, MIG devices) keep their keys. Outputs are not changed.
    Raises InvalidArgumentsError for keys that `args_type` does not have and for missing ones.
    """
    findings: list[Finding] = []
    plain = _mapping(args_type, args, "", findings)
    if findings:
        refuse(component, findings)
    return plain


def checked(
    component: str, args_type: type, args: Mapping[str, object], model: type[Model]
) -> Model:
    """The arguments as a model. Raises InvalidArgumentsError with every error at once.

    Keys without a field in the model are left out: the component uses them directly.
    """
    fields = {field.alias or name for name, field in model.model_fields.items()}
    given = declared(component, args_type, args)
    plain = {key: value for key, value in given.items() if key in fields}
    try:
        return model.model_validate(plain)
    except ValidationError as problem:
        refuse(component, [_finding(detail) for detail in problem.errors(include_url=False)])


def _finding(detail: Any) -> Finding:
    path = reduce(child, detail["loc"], "")
    message = str(detail["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if detail["type"] == "missing":
        return error("argument-missing", path, "this argument is needed and missing")
    found = detail.get("input")
    shown = f", found {found!r}" if isinstance(found, (str, int, float)) else ""
    return error("argument-invalid", path, f"{message}{shown}")


def _mapping(args_type: type, args: object, path: str, findings: list[Finding]) -> dict[str, Any]:
    if not isinstance(args, Mapping):
        findings.append(_not(f"a mapping with the keys of {args_type.__name__}", args, path))
        return {}
    hints = _hints(args_type)
    given = cast("Mapping[str, Any]", args)
    python = {to_camel(name): name for name in hints}
    for key in list(given):
        name = key if key in hints else python.get(key)
        if name is None:
            findings.append(_unknown(path, str(key), given[key], hints))
        elif name != key and name in given:
            both = f"`{key}` and `{name}` are one argument"
            findings.append(error("argument-repeated", child(path, key), both, "remove one"))
    given = {python.get(key, key): value for key, value in given.items() if value is not None}
    required: frozenset[str] = getattr(args_type, "__required_keys__", frozenset())
    for key in sorted(required - given.keys()):
        place = child(path, to_camel(key))
        findings.append(
            error("argument-missing", place, "this argument is needed and missing", f"add `{key}`")
        )
    return {
        to_camel(key): _value(hints[key], value, child(path, to_camel(key)), findings)
        for key, value in given.items()
        if key in hints
    }


@cache
def _hints(args_type: type) -> dict[str, Any]:
    """Type of each key. `typing.get_type_hints` cannot resolve `pulumi.Input`."""
    hints: dict[str, Any] = {}
    for key, hint in inspect.get_annotations(args_type).items():
        while typing.get_origin(hint) in (typing.NotRequired, typing.Required):
            (hint,) = typing.get_args(hint)
        hints[key] = hint
    return hints


def _value(hint: Any, value: object, path: str, findings: list[Finding]) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:  # pulumi.Input
        if isinstance(value, pulumi.Output | Unknown) or inspect.isawaitable(value):
            return cast("Any", value)
        return _value(arguments[0], value, path, findings)
    if origin is list and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        items = cast("Sequence[object]", value)
        return [_value(arguments[0], v, f"{path}[{i}]", findings) for i, v in enumerate(items)]
    if origin is dict and isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        findings += [_not("a text", k, f"{path} (key)") for k in entries if type(k) is not str]
        return {
            k: _value(arguments[1], v, child(path, str(k)), findings) for k, v in entries.items()
        }
    if typing.is_typeddict(hint):
        return _mapping(cast("type", hint), value, path, findings)
    value = rewritten(value, _whole)
    kind = _KINDS.get(origin or hint)
    if kind and not (origin is None and isinstance(value, hint)):
        inputs = bool(arguments) and typing.get_origin(arguments[-1]) is typing.Union
        more = "; its values may be Outputs" if inputs else ""
        findings.append(_not(kind, value, path, more))
        return None
    return value


_KINDS = {list: "a list", dict: "a mapping", str: "a text", bool: "true or false"}


def _not(wanted: str, found: object, path: str, more: str = "") -> Finding:
    output = isinstance(found, pulumi.Output | Unknown)
    fix = f"write {wanted}{f' that is known before deployment{more}' if output else ''}"
    return error("argument-invalid", path, f"{wanted} is wanted, found {type(found).__name__}", fix)


def _whole(value: Any) -> Any:
    """An integer instead of `4.0` from a component host."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _unknown(path: str, key: str, value: object, hints: Mapping[str, Any]) -> Finding:
    known = list(hints)
    near = meant_key((), key, known)
    inside = [name for name, hint in hints.items() if _takes(hint, key)]
    held = list(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else []
    own = [name for one in held for name in known if folded(name) == folded(one)]
    fix = f"nearest: {near}" if near else "remove it"
    if inside:
        fix = f"write it inside `{inside[0]}`"
    elif own:
        fix = f"write what is in it as arguments here: {', '.join(own)}"
    return error(
        "argument-unknown",
        child(path, to_camel(key)),
        f"`{key}` is not an argument here; the arguments are {', '.join(known)}",
        fix,
    )


def _takes(hint: Any, key: str) -> bool:
    """Whether an argument is a mapping that accepts a key."""
    if not typing.is_typeddict(hint):
        return False
    return key in {spelt for name in _hints(hint) for spelt in (name, to_camel(name))}
