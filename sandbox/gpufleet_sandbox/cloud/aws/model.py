"""Requests of the AWS API: made from provider inputs, validated by botocore's service models.

botocore itself checks names, types and what is required. Enumerations, patterns and upper bounds
are in its models too; the service checks those, so they are checked here.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from botocore.model import OperationModel, ServiceModel
from botocore.session import get_session
from botocore.validate import ParamValidator

from gpufleet_sandbox.cloud.cloud import CloudError

Shape = Any
"""A shape of botocore, which has few type annotations itself."""


@cache
def service_model(service: str) -> ServiceModel:
    """The model of one service, from the installed botocore."""
    return get_session().get_service_model(service)


def operation_model(service: str, operation: str) -> OperationModel:
    """The model of one operation, `CreateNodegroup`."""
    return service_model(service).operation_model(operation)


def enumeration(service: str, shape: str) -> tuple[str, ...]:
    """The values of an enumeration of the API."""
    found: Shape = service_model(service).shape_for(shape)
    return tuple(found.enum)


def request(
    service: str,
    operation: str,
    inputs: Mapping[str, Any],
    renames: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Inputs of a resource in the spelling of an API operation.

    Args:
        service: `ec2`.
        operation: `CreateLaunchTemplate`.
        inputs: what the program gave, in the provider's spelling.
        renames: provider's property name to the API's, where they differ in more than letter case.

    Raises:
        CloudError: an input has no place in the request.
    """
    shape: Shape = operation_model(service, operation).input_shape
    return _structure(shape, inputs, renames or {}, operation)


def validate(service: str, operation: str, parameters: Mapping[str, Any]) -> None:
    """Refuse what the API would refuse on sight.

    Raises:
        CloudError: everything that is wrong with the request.
    """
    shape: Shape = operation_model(service, operation).input_shape
    if shape is None:
        return
    report = ParamValidator().validate(parameters, shape)
    found = report.generate_report().splitlines() if report.has_errors() else []
    found += list(_beyond_types(shape, parameters, ""))
    if found:
        raise CloudError(f"{operation}: ValidationException: {'; '.join(found)}")


def tags(given: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Tags as most services list them."""
    return [{"Key": key, "Value": value} for key, value in (given or {}).items()]


def specifications(kind: str, given: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """Tags as EC2 takes them when it makes something."""
    return [{"ResourceType": kind, "Tags": tags(given)}] if given else []


def _convert(shape: Shape, value: Any, renames: Mapping[str, str], path: str) -> Any:
    if shape.type_name == "structure":
        if not isinstance(value, Mapping):
            raise CloudError(f"{path}: an object is needed, and it is {value!r}")
        return _structure(shape, value, renames, path)
    if shape.type_name == "list":
        member = shape.member
        if isinstance(value, Mapping) and set(_members(member)) == {"key", "value"}:
            return tags(value)
        return [
            _convert(member, item, renames, f"{path}[{index}]") for index, item in enumerate(value)
        ]
    if shape.type_name == "map":
        return {key: _convert(shape.value, item, renames, path) for key, item in value.items()}
    match shape.type_name:
        case "boolean":
            return value in (True, "true")
        case "integer" | "long":
            return int(value)
        case "double" | "float":
            return float(value)
        case "string":
            return str(value).lower() if isinstance(value, bool) else str(value)
        case _:
            return value


def _structure(
    shape: Shape, value: Mapping[str, Any], renames: Mapping[str, str], path: str
) -> dict[str, Any]:
    members = _members(shape)
    made: dict[str, Any] = {}
    for name, item in value.items():
        if item is None or item == "":
            continue
        wanted = renames.get(name, name)
        member = members.get(wanted.lower())
        if member is None:
            raise CloudError(
                f"{path}: the stand-in has no place for {name} in the API's {shape.name}"
            )
        made[member] = _convert(shape.members[member], item, renames, f"{path}.{name}")
    return made


def _members(shape: Shape) -> dict[str, str]:
    if shape.type_name != "structure":
        return {}
    return {name.lower(): name for name in shape.members}


def _beyond_types(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """Enumerations, patterns and upper bounds."""
    if shape.type_name == "structure" and isinstance(value, Mapping):
        for name, item in value.items():
            if name in shape.members:
                below = f"{path}.{name}" if path else name
                yield from _beyond_types(shape.members[name], item, below)
    elif shape.type_name == "list" and isinstance(value, list):
        if (most := shape.metadata.get("max")) is not None and len(value) > most:
            yield f"{path}: at most {most} entries, and there are {len(value)}"
        for index, item in enumerate(value):
            yield from _beyond_types(shape.member, item, f"{path}[{index}]")
    elif shape.type_name == "map" and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _beyond_types(shape.key, key, f"{path} key {key!r}")
            yield from _beyond_types(shape.value, item, f"{path}[{key!r}]")
    else:
        yield from _scalar(shape, value, path)


def _scalar(shape: Shape, value: Any, path: str) -> Iterator[str]:
    known = shape.metadata
    if (values := known.get("enum")) and value not in values:
        yield f"{path}: {value!r} is none of {', '.join(values)}"
    most = known.get("max")
    if most is not None and isinstance(value, str) and len(value) > most:
        yield f"{path}: at most {most} characters, and there are {len(value)}"
    if most is not None and isinstance(value, int) and value > most:
        yield f"{path}: at most {most}, and it is {value}"
    pattern = known.get("pattern")
    if pattern and isinstance(value, str) and _matches(pattern, value) is False:
        yield f"{path}: {value!r} does not match {pattern}"


def _matches(pattern: str, value: str) -> bool | None:
    """Whether the service's pattern, a Java one, holds; None where Python cannot read it."""
    try:
        return (
            re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value, re.DOTALL) is not None
        )
    except re.error:
        return None
