"""Suggestions for a key or value in the wrong place of a declaration: the place of every known key
is known, and comparing the spelling alone would suggest another key."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from gpufleet.documents.paths import at_steps
from gpufleet.documents.shapes import as_mapping
from gpufleet.messages import shown_value
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.mig_names import ProfileName
from gpufleet.spec.pool import GpuPool, Nodes
from gpufleet.spec.sharing import Mig
from gpufleet.spec.spelling import models_in

_PROFILE = TypeAdapter[str](ProfileName)
Place = tuple[str | int, ...]
_MOST_PLACES = 3
"""Maximum number of places that are named for one key; more are of no use."""


def keys_at(place: Place) -> list[str]:
    """The keys of the model at a place of a FleetSpec; empty: not a model."""
    model = _model_at(place)
    return [] if model is None else list(_fields(model))


def misplaced_key(place: Place, data: Mapping[str, Any]) -> str | None:
    """The suggestion for the unknown key at the end of a place; None: no other place is known.

    `data` is the declaration. Values of unknown keys may be credentials: only integers are
    repeated.
    """
    *above, key = place
    inside = as_mapping(at_steps(data, above)) or {}
    model = _model_at(tuple(above))
    if model is None or not isinstance(key, str):
        return None
    value = inside.get(key)
    if model is Mig and _is_profile(key):
        return f"write `{_layouts(inside)}`"
    if model is GpuPool and key == "gpus" and _is_count(value):
        return f"write `gpusPerNode: {value}`"
    if (named := _named(list(_models(model)), value)) is not None:
        return f"write `{named}: {{...}}` in its place"
    inner = [name for name, one in _models(model).items() if key in _fields(one)]
    if len(inner) == 1:
        return f"write it under `{inner[0]}`: `{inner[0]}: {{{key}: {_shown(value)}}}`"
    if inner and len(inner) <= _MOST_PLACES:
        return f"write it under {' or '.join(f'`{name}`' for name in inner)}"
    for end in range(len(above) - 1, -1, -1):
        if isinstance(above[end], int):
            continue
        outer = _model_at(tuple(above[:end]))
        if outer is GpuPool and key == "gpus" and _is_count(value):
            return f"write `gpusPerNode: {value}` next to `{above[end]}`"
        if outer is not None and key in _fields(outer) and key not in at_steps(data, above[:end]):
            return f"write it next to `{above[end]}`"
    return None


def wanted_form(place: Place, wanted: str, value: object) -> str | None:
    """A value of the required form; None: no form is known.

    Args:
        place: Place of the value.
        wanted: Text of the message: `a list is wanted`.
        value: The present value.
    """
    key = f"{place[-1]}: " if place and isinstance(place[-1], str) else ""
    plain = isinstance(value, (str, int, float))
    shown = shown_value(value).strip("'")
    model = _model_at(place)
    named = None if model is None else _named(list(_fields(model)), value)
    if model is Mig and _is_profile(value):
        return f"write `{key}{{{_layouts({value: 1})}}}`"
    if wanted.startswith("a list"):
        if layouts := _layouts(as_mapping(value) or {}):
            return f"write `{layouts}`"
        held = f"{{{named}: {{...}}}}" if named else "{...}" if model else shown if plain else "..."
        return f"write a list: `{key}[{held}]`"
    if named:
        return f"write `{key}{{{named}: {{...}}}}`"
    if model is Nodes and isinstance(value, int) and value > 0 and _is_count(value):
        return f"write `{key}{{min: {value}, max: {value}}}`"
    if model is not None:
        needed = [one for one, field in model.model_fields.items() if field.is_required()]
        field = model.model_fields[needed[0]] if len(needed) == 1 and plain else None
        if field is not None and field.annotation in _TAKES.get(type(value), ()):
            return f"write `{key}{{{field.alias or needed[0]}: {shown}}}`"
        return f"write a mapping; its keys are {', '.join(_fields(model))}"
    if wanted.startswith("a mapping"):
        return f"write a mapping: `{key}{{NAME: VALUE}}`"
    if wanted.startswith("text") and isinstance(value, (list, tuple, Mapping)):
        items = cast("Sequence[object]", value if isinstance(value, list) else ())
        one = shown_value(items[0]).strip("'") if len(items) == 1 else ""
        return f"write `{key}{one}`" if one and isinstance(items[0], str) else "write one text"
    return f"write {wanted.removesuffix(' is wanted')}" if wanted.endswith(" is wanted") else None


_TAKES: Mapping[type, tuple[object, ...]] = {
    int: (int, Decimal),
    float: (Decimal,),
    Decimal: (Decimal,),
    str: (str,),
}
"""Type of a value -> annotations of fields that accept it."""


def _named(keys: Sequence[str], value: object) -> str | None:
    """The key that a text names, in any spelling: `time-slicing` is `timeSlicing`."""
    if not isinstance(value, str):
        return None
    spelled = re.sub("[^a-z]", "", value.lower())
    return next((key for key in keys if key.lower() == spelled), None)


def _layouts(found: Mapping[Any, object]) -> str:
    """Profiles with counts in the form of a layout; empty: no key is a profile."""
    counts = {name: count for name, count in found.items() if _is_profile(name)}
    written = ", ".join(f"{name}: {_shown(count)}" for name, count in counts.items())
    return f"layouts: [{{devices: {{{written}}}}}]" if counts else ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return str(value) if _is_count(value) else "..."


def _is_profile(name: object) -> bool:
    try:
        _PROFILE.validate_python(name)
    except ValidationError:
        return False
    return True


def _fields(model: type[BaseModel]) -> dict[str, object]:
    """Key as it is written -> annotation."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Key -> the model of its value, if it is one model and not a list of them."""
    inner = {
        key: _model_in(annotation)
        for key, annotation in _fields(model).items()
        if not any(get_origin(one) in {tuple, list} for one in (annotation, *get_args(annotation)))
    }
    return {key: one for key, one in inner.items() if one is not None}


def _model_at(place: Place) -> type[BaseModel] | None:
    model: type[BaseModel] | None = FleetSpec
    for part in place:
        if model is None or isinstance(part, int):
            continue
        fields = _fields(model)
        if part in fields:
            model = _model_in(fields[part])
    return model


def _model_in(annotation: object) -> type[BaseModel] | None:
    return next(models_in(annotation), None)
