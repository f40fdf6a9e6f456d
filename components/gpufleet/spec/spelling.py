"""Both spellings of a key in a Python program: `time_slicing`, and `timeSlicing` as in files."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast, get_args

from pydantic import BaseModel


def spelled_as_files(model: type[BaseModel], data: object) -> Any:
    """The same plain data with the keys of `model` in the spelling of files.

    Free mappings (labels, Helm values, MIG devices), unknown keys and data with another shape than
    the model stay unchanged. If a key is given in both spellings, the Python one stays too, so that
    validation refuses it.
    """
    if not isinstance(data, Mapping):
        return data
    fields = _fields(model)
    given = cast("Mapping[Any, Any]", data)
    spelt: dict[Any, Any] = {}
    for key, value in given.items():
        alias, parts = fields.get(key, (key, ()))
        twice = alias != key and alias in given
        spelt[key if twice else alias] = _below(parts, value)
    return spelt


def _below(models: tuple[type[BaseModel], ...], value: Any) -> Any:
    if not models:
        return value
    if isinstance(value, (list, tuple)):
        return [_below(models, one) for one in cast("list[Any]", value)]
    return spelled_as_files(models[0], value) if len(models) == 1 else value


@cache
def _fields(model: type[BaseModel]) -> dict[str, tuple[str, tuple[type[BaseModel], ...]]]:
    """Either spelling of a field -> that of files, and the models of its value."""
    found: dict[str, tuple[str, tuple[type[BaseModel], ...]]] = {}
    for name, field in model.model_fields.items():
        alias = field.alias or name
        found[name] = found[alias] = (alias, tuple(models_in(field.annotation)))
    return found


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation, in a union, a list or by itself."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)
