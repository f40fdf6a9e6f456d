"""Facts of the installed SDK about a resource or a function: names, types, required inputs.

They are not copied: the generated Python classes of `pulumi_aws` and `pulumi_gcp` are read when a
type is first used (importing one module of them takes a tenth of a second).
"""

import inspect
import re
import sys
import threading
import types
import typing
import warnings
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from typing import Any, ForwardRef

from pulumi._types import input_type_py_to_pulumi_names, resource_py_to_pulumi_names

from gpufleet_sandbox.cloud.shapes import (
    Anything,
    ListOf,
    MapOf,
    ObjectShape,
    Property,
    Scalar,
    Shape,
    StringChoice,
)

_IMPORT_LOCK = threading.RLock()


@contextmanager
def _importing() -> Iterator[None]:
    """Read generated code: a module of the SDK warns about its own deprecated names."""
    with _IMPORT_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


class UnknownTypeError(LookupError):
    """The installed SDK has no resource or function of that token."""


@dataclass(frozen=True)
class ResourceType:
    """One resource of the SDK."""

    token: str
    record: ObjectShape
    """Its inputs."""
    outputs: frozenset[str]
    """Every property it has once made, inputs included."""
    secrets: frozenset[str]
    """Inputs and outputs that the SDK itself marks secret."""


@dataclass(frozen=True)
class FunctionType:
    """One invoke of the SDK."""

    token: str
    record: ObjectShape
    """Its arguments."""
    results: frozenset[str]
    """Properties of its result."""


class Sdk:
    """The generated package of one provider.

    Args:
        name: `aws` or `gcp`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._resources: dict[str, ResourceType] = {}
        self._functions: dict[str, FunctionType] = {}

    @cached_property
    def version(self) -> str:
        """Version of the installed package; the engine requests exactly this plugin."""
        from importlib.metadata import version

        return version(f"pulumi_{self.name}")

    @cached_property
    def provider(self) -> ObjectShape:
        """Settings of the provider itself."""
        module = import_module(f"pulumi_{self.name}.provider")
        return _arguments(module.ProviderArgs)

    def resource(self, token: str) -> ResourceType:
        """The resource type `aws:eks/nodeGroup:NodeGroup`.

        Raises:
            UnknownTypeError: the SDK has none of that token.
        """
        if token not in self._resources:
            with _importing():
                self._resources[token] = self._read_resource(token)
        return self._resources[token]

    def function(self, token: str) -> FunctionType:
        """The function `aws:ec2/getSubnet:getSubnet`.

        Raises:
            UnknownTypeError: the SDK has none of that token.
        """
        if token not in self._functions:
            with _importing():
                self._functions[token] = self._read_function(token)
        return self._functions[token]

    def _read_resource(self, token: str) -> ResourceType:
        module, name = self._module(token)
        made: Any = getattr(module, name, None)
        arguments = getattr(module, f"{name}Args", None)
        if made is None or getattr(made, "pulumi_type", None) != token:
            raise UnknownTypeError(
                f"pulumi_{self.name} {self.version} has no resource {token}; the stand-in serves "
                "what the installed SDK has"
            )
        names = resource_py_to_pulumi_names(made)
        record = (
            _arguments(arguments)
            if inspect.isclass(arguments)
            else ObjectShape(f"{name}Args", dict)
        )
        return ResourceType(
            token, record, frozenset(names.values()), frozenset(_secrets(made, names))
        )

    def _read_function(self, token: str) -> FunctionType:
        module, name = self._module(token)
        python_name = _snake(name)
        called = getattr(module, python_name, None)
        if not callable(called):
            raise UnknownTypeError(f"pulumi_{self.name} {self.version} has no function {token}")
        signature = inspect.signature(called)
        namespace = vars(sys.modules[called.__module__])

        def read() -> Mapping[str, Property]:
            return {
                _camel(parameter.name): Property(_shape(parameter.annotation, namespace), False)
                for parameter in signature.parameters.values()
                if parameter.name != "opts"
            }

        answer = signature.return_annotation
        results = {
            property_name
            for cls in answer.__mro__
            for member in vars(cls).values()
            if isinstance(member, property)
            and (property_name := getattr(member.fget, "_pulumi_name", None))
        }
        return FunctionType(token, ObjectShape(python_name, read), frozenset(results))

    def _module(self, token: str) -> tuple[types.ModuleType, str]:
        package, _, rest = token.partition(":")
        module, _, name = rest.rpartition(":")
        folder = module.partition("/")[0].replace("-", "").lower()
        path = f"pulumi_{package}" + ("" if folder in ("index", "") else f".{folder}")
        if package != self.name or not name:
            raise UnknownTypeError(f"{token} is not a type of the provider {self.name}")
        try:
            return import_module(path), name
        except ModuleNotFoundError as missing:
            raise UnknownTypeError(
                f"{token}: pulumi_{self.name} {self.version} has no module {folder}"
            ) from missing


@cache
def _arguments(cls: type) -> ObjectShape:
    """The inputs of a generated `...Args` class."""

    def read() -> Mapping[str, Property]:
        names = input_type_py_to_pulumi_names(cls)
        namespace = vars(sys.modules[cls.__module__])
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {
            names[parameter.name]: Property(
                _shape(parameter.annotation, namespace), parameter.default is parameter.empty
            )
            for parameter in parameters
        }

    return ObjectShape(cls.__name__, read)


def _shape(annotation: Any, namespace: Mapping[str, Any]) -> Shape:
    """The shape behind an annotation such as `Input[Optional[Sequence[Input['XArgs']]]]`."""
    if isinstance(annotation, str | ForwardRef):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return _shape(_evaluated(text, namespace), namespace)
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union(typing.get_args(annotation), namespace)
    if origin in (Sequence, list):
        return ListOf(_shape(typing.get_args(annotation)[0], namespace))
    if origin in (Mapping, dict):
        return MapOf(_shape(typing.get_args(annotation)[1], namespace))
    if annotation in _SCALARS:
        return Scalar(_SCALARS[annotation])
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return StringChoice(tuple(str(member.value) for member in annotation))
    if inspect.isclass(annotation) and annotation.__name__.endswith("Args"):
        return _arguments(annotation)
    return Anything()


def _union(members: Sequence[Any], namespace: Mapping[str, Any]) -> Shape:
    """The one shape a union represents once the program's conveniences are taken away.

    A union of `str` and an enumeration is open: the generated enumeration lists what was known,
    and the provider takes any string.
    """
    shapes: list[Shape] = []
    for member in members:
        if member is type(None) or typing.get_origin(member) is Awaitable:
            continue
        text = member.__forward_arg__ if isinstance(member, ForwardRef) else ""
        # The same object again: its TypedDict, what another resource returned, or an Output.
        if text.endswith("ArgsDict") or "outputs." in text or text.startswith("Output["):
            continue
        shape = _shape(member, namespace)
        if shape not in shapes:
            shapes.append(shape)
    if Scalar("string") in shapes:
        rest = [shape for shape in shapes if not isinstance(shape, StringChoice | Scalar)]
        return Anything() if rest else Scalar("string")
    return shapes[0] if len(shapes) == 1 else Anything()


def _evaluated(text: str, namespace: Mapping[str, Any]) -> Any:
    """A quoted name of the generated code, in the module that quotes it."""
    found: Any = None
    for index, part in enumerate(text.split(".")):
        found = namespace.get(part) if index == 0 else getattr(found, part, None)
        if found is None:
            return Any
    return found


def _secrets(cls: type, names: Mapping[str, str]) -> set[str]:
    """Properties the generated constructor wraps as secrets."""
    source = inspect.getsource(cls._internal_init)  # pyright: ignore[reportAttributeAccessIssue]
    found = {names.get(name, name) for name in re.findall(r"Output\.secret\((\w+)\)", source)}
    declared = re.search(r"additional_secret_outputs=\[([^\]]*)\]", source)
    return found | set(re.findall(r'"(\w+)"', declared.group(1) if declared else ""))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
