"""Writes `components/gpufleet/arguments/` from the models of `gpufleet.spec`.

    .venv/bin/python tests/unit/components/write_arguments.py

Pulumi's component host reads argument types from TypedDicts in source files, and pydantic models
cannot be argument types. So the models are restated, by this program; a test compares.

Arguments of components have the spelling of Python. `spelled_as_files/` restates the FleetSpec in
the spelling of files, for the `spec` of `GpuFleet`. `words.py` has the words of each choice: a type
checker sees the words, the component host a `str`. `connections.py` and `wired_components.py` have
the inputs that are values of other resources, from the rows of `spec/wired_inputs.yaml`.
"""

import re
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

from gpufleet.fleet.gpu_operator_chart import DeclaredGpuOperator
from gpufleet.render.device_plugin_values import DeclaredDevicePlugin
from gpufleet.spec.addons import (
    Addons,
    ClusterAutoscaler,
    DevicePlugin,
    GpuOperator,
    Karpenter,
    NetworkOperator,
    NeuronDevicePlugin,
)
from gpufleet.spec.base import Wired
from gpufleet.spec.chart_components import (
    DeclaredEfaPlugin,
    DeclaredKeda,
    DeclaredNeuronPlugin,
    DeclaredNimOperator,
)
from gpufleet.spec.components import (
    DeclaredDraDriver,
    DeclaredGpuAcceptance,
    DeclaredGpuAddons,
    DeclaredGpuMonitoring,
    DeclaredGpuScaledObject,
    DeclaredKueueQueues,
    DeclaredNetworkOperator,
    DeclaredNimService,
)
from gpufleet.spec.descriptions import descriptions
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gpu_operator import GpuOperatorSettings
from gpufleet.spec.monitoring import Monitoring
from gpufleet.spec.network_operator import NetworkOperatorSettings
from gpufleet.spec.nim import Nim
from gpufleet.spec.olm import DeclaredOlmOperator
from gpufleet.spec.platforms.eks import DeclaredEksCluster
from gpufleet.spec.platforms.eks_components import (
    DeclaredClusterAutoscaler,
    DeclaredKarpenter,
    DeclaredNodeMonitoringAgent,
)
from gpufleet.spec.platforms.gke import DeclaredGkeCluster
from gpufleet.spec.pool import GpuPool
from gpufleet.spec.queues import Queues
from gpufleet.spec.scaling import KedaScaling
from tests.reading import yaml_data

FOLDER = Path(__file__).parents[3] / "components" / "gpufleet" / "arguments"
ROOTS = (
    GpuPool,
    Addons,
    GpuOperatorSettings,
    NetworkOperatorSettings,
    Queues,
    Monitoring,
    KedaScaling,
    Nim,
    DeclaredEksCluster,
    DeclaredGkeCluster,
    DeclaredNimOperator,
    DeclaredKeda,
    DeclaredNeuronPlugin,
    DeclaredEfaPlugin,
    DeclaredOlmOperator,
    DeclaredGpuAddons,
    DeclaredDraDriver,
    DeclaredGpuAcceptance,
    DeclaredKueueQueues,
    DeclaredGpuMonitoring,
    DeclaredNetworkOperator,
    DeclaredGpuOperator,
    DeclaredDevicePlugin,
    DeclaredNimService,
    DeclaredGpuScaledObject,
    DeclaredNodeMonitoringAgent,
    DeclaredClusterAutoscaler,
    DeclaredKarpenter,
)
RENAMED = {
    GpuOperator: "GpuOperatorOptionsArgs",
    NetworkOperator: "NetworkOperatorOptionsArgs",
    DevicePlugin: "DevicePluginOptionsArgs",
    Karpenter: "KarpenterOptionsArgs",
    ClusterAutoscaler: "ClusterAutoscalerOptionsArgs",
    NeuronDevicePlugin: "NeuronDevicePluginOptionsArgs",
    DeclaredNeuronPlugin: "NeuronDevicePluginArgs",
    DeclaredEfaPlugin: "EfaDevicePluginArgs",
}
"""All types of a package share one namespace: the first ones are components with their own
arguments, the last ones are the arguments of components."""

SPELLED_AS_FILES = "spelled_as_files"
"""Folder of the FleetSpec in camelCase."""
WIRED = FOLDER.parent / "spec" / "wired_inputs.yaml"
WIRED_SECTIONS = ("connections", "wired_components")
_MARK = "Generated from the models by tests/unit/components/write_arguments.py: edit those."
_WIRED_MARK = _MARK.replace("the models", "spec/wired_inputs.yaml").replace("those", "that file")


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


def spelled_alike(model: type[BaseModel]) -> bool:
    """Whether files and Python spell everything below a model equally: one TypedDict then."""
    return all(
        (field.alias or key) == key and all(map(spelled_alike, _models_in(field.annotation)))
        for key, field in model.model_fields.items()
    )


def name(model: type[BaseModel], *, as_files: bool = False) -> str:
    if as_files and model is not FleetSpec and not spelled_alike(model):
        return f"{model.__name__}Dict"
    return RENAMED.get(model, f"{model.__name__.removeprefix('Declared')}Args")


def written(annotation: Any, place: str, *, as_files: bool = False) -> tuple[str, str]:
    """Spelling of a field's type in a TypedDict, and the parts that need words instead."""
    origin, arguments = get_origin(annotation), get_args(annotation)

    def inner(annotation: Any) -> str:
        return written(annotation, place, as_files=as_files)[0]

    if origin is Annotated:
        return written(arguments[0], place, as_files=as_files)
    if origin in (Union, types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        if len(rest) == 1:
            return written(rest[0], place, as_files=as_files)
        return " | ".join(inner(a) for a in rest) if as_files else "Any", ""
    if origin is Literal:
        return _word(place, arguments), _choice(arguments)
    if origin is tuple:
        return f"{'Sequence' if as_files else 'list'}[{inner(arguments[0])}]", ""
    if origin is dict:
        return f"{'Mapping' if as_files else 'dict'}[str, {inner(arguments[1])}]", ""
    if annotation is Any:
        return "Any", ""
    if issubclass(annotation, Enum):
        values = [member.value for member in annotation]
        return _word(annotation.__name__, values), _choice(values)
    if issubclass(annotation, BaseModel):
        if annotation.model_fields:
            return name(annotation, as_files=as_files), ""
        return "Mapping[str, Any]" if as_files else "dict[str, Any]", ""
    if issubclass(annotation, datetime):
        return "str | datetime" if as_files else "str", ""
    if issubclass(annotation, Decimal):
        return "str | float | Decimal" if as_files else "str", ""
    assert annotation in (str, int, float, bool), annotation
    return annotation.__name__, ""


WORDS: dict[str, tuple[str, ...]] = {}
"""Choices found so far: name of the type -> its words."""


def _word(place: str, words: Any) -> str:
    named = f"{place}Word"
    assert WORDS.setdefault(named, tuple(words)) == tuple(words), f"two choices are {named}"
    return named


def words_file() -> str:
    lines = [
        '"""Choices in arguments: for a type checker the words, for the component host a `str`.\n',
        f'{_MARK}\n"""\n',
        "from typing import TYPE_CHECKING, Literal\n",
        "if TYPE_CHECKING:",
        *(f"    {key} = Literal[{', '.join(map(repr, words))}]" for key, words in WORDS.items()),
        "else:",
        f"    {' = '.join(WORDS)} = str",
    ]
    return "\n".join(lines)


def _choice(words: Any) -> str:
    listed = ", ".join(f"`{word}`" for word in words)
    return f"One of {listed}." if len(words) > 1 else f"Only {listed}."


def typed_dict(model: type[BaseModel], *, as_files: bool = False) -> str:
    """The source of one TypedDict. Every field must have a docstring."""
    head = f"class {name(model, as_files=as_files)}(TypedDict):"
    lines = [head, *_docstring(model.__doc__ or "", model), ""]
    meanings = descriptions(model)
    for key, field in model.model_fields.items():
        place = f"{model.__name__}{(field.alias or key)[0].upper()}{(field.alias or key)[1:]}"
        wired = next((one for one in field.metadata if isinstance(one, Wired)), None)
        type_, words = (
            written(field.annotation, place, as_files=as_files)
            if wired is None
            else (wired.written, "")
        )
        spelt = (field.alias or key) if as_files else key
        lines.append(f"    {spelt}: {type_ if field.is_required() else f'NotRequired[{type_}]'}")
        lines += _docstring(f"{words} {meanings.get(key, '')}", f"{model.__name__}.{key}")
    return "\n".join(lines)


def _docstring(text: str, subject: object) -> list[str]:
    words = " ".join(text.split())
    assert words, f"{subject} has no docstring"
    return textwrap.wrap(
        f'"""{words}"""',
        98,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )


def stub() -> str:
    """`gpufleet/__init__.pyi`: the public names, for type checkers and editors."""
    _, *rows = (FOLDER.parent / "public_names.csv").read_text().splitlines()
    homes = sorted((home, name) for name, home in (row.split(",") for row in rows))
    lines = [f"from {home} import {name} as {name}" for home, name in homes]
    head = '"""Public names, for type checkers and editors. Generated from public_names.csv."""'
    return _formatted("\n".join([head, "", *lines, "", "__all__: list[str]", ""]))


def files() -> dict[str, str]:
    """File name -> source: one file per module of the spec."""
    return {
        **_restated(ROOTS, as_files=False),
        **_restated((FleetSpec,), as_files=True),
        "words.py": _formatted(words_file()),
        "../__init__.pyi": stub(),
        **{f"{section}.py": _formatted(wired_file(section)) for section in WIRED_SECTIONS},
    }


def wired_file(section: str) -> str:
    rows = yaml_data(WIRED.read_text(encoding="utf-8"))
    bodies: list[str] = []
    for named, row in rows[section].items():
        lines = [f"class {named}(TypedDict):", *_docstring(row["about"], named), ""]
        for spelt, own in row["keys"].items():
            key = spelt.removesuffix("?")
            one = own or rows["shared"][key]
            type_ = one["type"].replace("Input", "pulumi.Input")
            lines.append(f"    {key}: {type_ if key == spelt else f'NotRequired[{type_}]'}")
            lines += _docstring(one["about"], f"{named}.{key}")
        bodies.append("\n".join(lines))
    text = "\n\n\n".join(bodies)
    homes = {"Any": "typing", "NotRequired": "typing", "TypedDict": "typing"}
    homes |= {"AddonsArgs": "gpufleet.arguments.addons", "GpuPoolArgs": "gpufleet.arguments.pool"}
    homes["ClusterAutoscalerOptionsArgs"] = homes["AddonsArgs"]
    if section != WIRED_SECTIONS[0]:
        homes |= dict.fromkeys(rows[WIRED_SECTIONS[0]], f"gpufleet.arguments.{WIRED_SECTIONS[0]}")
    imports = [f"from {home} import {name}" for name, home in homes.items() if _uses(text, name)]
    head = f'"""Inputs of components that are values of other resources.\n\n{_WIRED_MARK}\n"""\n'
    return "\n".join([head, *imports, "import pulumi", "\n", text, ""])


def _restated(roots: tuple[type[BaseModel], ...], *, as_files: bool) -> dict[str, str]:
    by_module: dict[str, list[type[BaseModel]]] = {}
    alike: set[type[BaseModel]] = set()
    for root in roots:
        for model in models(root):
            if as_files and spelled_alike(model):
                alike.add(model)
                continue
            known = by_module.setdefault(model.__module__, [])
            if model not in known:
                known.append(model)
    package = f"gpufleet.arguments{f'.{SPELLED_AS_FILES}' if as_files else ''}"
    homes = {
        name(m, as_files=as_files): f"{package}.{module.rsplit('.', 1)[1]}"
        for module, found in by_module.items()
        for m in found
    }
    homes |= {name(one): f"gpufleet.arguments.{one.__module__.rsplit('.', 1)[1]}" for one in alike}
    folder = f"{SPELLED_AS_FILES}/" if as_files else ""
    return {
        f"{folder}{module.rsplit('.', 1)[1]}.py": _formatted(
            _source(
                module, f"{package}.{module.rsplit('.', 1)[1]}", found, homes, as_files=as_files
            )
        )
        for module, found in by_module.items()
    }


def _source(
    module: str,
    own: str,
    found: list[type[BaseModel]],
    homes: dict[str, str],
    *,
    as_files: bool,
) -> str:
    bodies = [typed_dict(model, as_files=as_files) for model in found]
    text = "\n\n\n".join(bodies)
    known = {
        **homes,
        **dict.fromkeys(WORDS, "gpufleet.arguments.words"),
        **dict.fromkeys(("Any", "NotRequired", "TypedDict"), "typing"),
        **dict.fromkeys(("Mapping", "Sequence"), "collections.abc"),
        "datetime": "datetime",
        "Decimal": "decimal",
    }
    used = sorted(key for key, home in known.items() if home != own and _uses(text, key))
    imports = [f"from {known[key]} import {key}" for key in used]
    imports += ["import pulumi"] if "pulumi." in text else []
    subject = "The FleetSpec in the spelling of files" if as_files else "Inputs of components"
    head = f'"""{subject}: what restates `{module}`.\n\n{_MARK}\n"""\n'
    return "\n".join([head, *imports, "\n", text, ""])


def _uses(text: str, word: str) -> bool:
    return (
        re.search(rf"(?:\| |, |: |\[|\()({word})(?=[\[\],) |:]|$)", text, re.MULTILINE) is not None
    )


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    options = ["--config", str(FOLDER.parents[2] / "pyproject.toml"), "--stdin-filename", "a.py"]
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        text = subprocess.run(
            [ruff, *command, *options, "-"], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    (FOLDER / SPELLED_AS_FILES).mkdir(exist_ok=True)
    for file, source in files().items():
        (FOLDER / file).write_text(source, encoding="utf-8")
