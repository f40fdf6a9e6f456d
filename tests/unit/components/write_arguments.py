"""Writes `components/gpufleet/arguments/` from the models of `gpufleet.spec`.

    .venv/bin/python tests/unit/components/write_arguments.py

Pulumi's component host reads argument types from TypedDicts in source files, and pydantic models
cannot be argument types. So the models are restated, by this program; a test compares.
"""

import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from gpufleet.spec.addons import (
    Addons,
    ClusterAutoscaler,
    DevicePlugin,
    GpuOperator,
    Karpenter,
    NetworkOperator,
    NeuronDevicePlugin,
)
from gpufleet.spec.descriptions import descriptions
from gpufleet.spec.gpu_operator import GpuOperatorSettings
from gpufleet.spec.monitoring import Monitoring
from gpufleet.spec.network_operator import NetworkOperatorSettings
from gpufleet.spec.nim import Nim
from gpufleet.spec.pool import GpuPool
from gpufleet.spec.queues import Queues
from gpufleet.spec.scaling import KedaScaling, Scaling

FOLDER = Path(__file__).parents[3] / "components" / "gpufleet" / "arguments"
ROOTS = (
    GpuPool,
    Addons,
    GpuOperatorSettings,
    NetworkOperatorSettings,
    Queues,
    Monitoring,
    Scaling,
    KedaScaling,
    Nim,
)
RENAMED = {
    GpuOperator: "GpuOperatorOptionsArgs",
    NetworkOperator: "NetworkOperatorOptionsArgs",
    DevicePlugin: "DevicePluginOptionsArgs",
    Karpenter: "KarpenterOptionsArgs",
    ClusterAutoscaler: "ClusterAutoscalerOptionsArgs",
    NeuronDevicePlugin: "NeuronDevicePluginOptionsArgs",
}
"""These components have arguments of their own, and all types of a package share one namespace."""

_MARK = "Generated from the models by tests/unit/components/write_arguments.py: edit those."


def models(root: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The models below a root that have fields, inner ones first."""
    for field in root.model_fields.values():
        for model in _models_in(field.annotation):
            yield from models(model)
    if root.model_fields:
        yield root


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def name(model: type[BaseModel]) -> str:
    return RENAMED.get(model, f"{model.__name__}Args")


def written(annotation: Any) -> tuple[str, str]:
    """How a field's type is spelt in a TypedDict, and what must be said in words instead."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return written(arguments[0])
    if origin in (Union, types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        return written(rest[0]) if len(rest) == 1 else ("Any", "")
    if origin is Literal:
        return "str", _choice(arguments)
    if origin is tuple:
        return f"list[{written(arguments[0])[0]}]", ""
    if origin is dict:
        return f"dict[str, {written(arguments[1])[0]}]", ""
    if annotation is Any:
        return "Any", ""
    if issubclass(annotation, Enum):
        return "str", _choice([member.value for member in annotation])
    if issubclass(annotation, BaseModel):
        return (name(annotation) if annotation.model_fields else "dict[str, Any]"), ""
    if issubclass(annotation, (datetime, Decimal)):
        return "str", ""
    assert annotation in (str, int, float, bool), annotation
    return annotation.__name__, ""


def _choice(words: Any) -> str:
    listed = ", ".join(f"`{word}`" for word in words)
    return f"One of {listed}." if len(words) > 1 else f"Only {listed}."


def typed_dict(model: type[BaseModel]) -> str:
    """The source of one TypedDict. Every field must have a docstring."""
    lines = [f"class {name(model)}(TypedDict):", *_docstring(model.__doc__ or "", model), ""]
    meanings = descriptions(model)
    for key, field in model.model_fields.items():
        type_, words = written(field.annotation)
        lines.append(f"    {key}: {type_ if field.is_required() else f'NotRequired[{type_}]'}")
        lines += _docstring(f"{words} {meanings.get(key, '')}", f"{model.__name__}.{key}")
    return "\n".join(lines)


def _docstring(text: str, subject: object) -> list[str]:
    words = " ".join(text.split())
    assert words, f"{subject} has no docstring"
    return textwrap.wrap(f'"""{words}"""', 98, initial_indent="    ", subsequent_indent="    ")


def files() -> dict[str, str]:
    """File name -> source: one file per module of the spec."""
    by_module: dict[str, list[type[BaseModel]]] = {}
    for root in ROOTS:
        for model in models(root):
            known = by_module.setdefault(model.__module__, [])
            if model not in known:
                known.append(model)
    homes = {name(m): module for module, found in by_module.items() for m in found}
    return {
        f"{module.rsplit('.', 1)[1]}.py": _formatted(_source(module, found, homes))
        for module, found in by_module.items()
    }


def _source(module: str, found: list[type[BaseModel]], homes: dict[str, str]) -> str:
    bodies = [typed_dict(model) for model in found]
    text = "\n\n\n".join(bodies)
    used = sorted(key for key, home in homes.items() if home != module and _uses(text, key))
    typing_names = [n for n in ("Any", "NotRequired", "TypedDict") if _uses(text, n)]
    imports = [f"from typing import {', '.join(typing_names)}\n"]
    imports += [
        f"from gpufleet.arguments.{homes[key].rsplit('.', 1)[1]} import {key}" for key in used
    ]
    head = f'"""Inputs of components that restate `{module}`.\n\n{_MARK}\n"""\n'
    return "\n".join([head, *imports, "\n", text, ""])


def _uses(text: str, word: str) -> bool:
    return any(f"{sign}{word}" in text for sign in (" ", "[", "(", ": "))


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    options = ["--config", str(FOLDER.parents[2] / "pyproject.toml"), "--stdin-filename", "a.py"]
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        text = subprocess.run(
            [ruff, *command, *options, "-"], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    for file, source in files().items():
        (FOLDER / file).write_text(source, encoding="utf-8")
