"""Base of every part of the FleetSpec: frozen, camelCase in files, no unknown keys."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_before_validator_function

from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.findings.row_rules import holds, value_of
from gpufleet.findings.rows import FACT, filled

_rows, _in_files = cache(read_rows), cache(to_camel)
KmsKeyArn = Annotated[
    str,
    StringConstraints(pattern=r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[\w/-]+$"),
]
"""ARN of a key or an alias of AWS KMS."""
Release = Annotated[str, StringConstraints(pattern=r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+].+)?$")]
"""Release of a chart or an operator, `v26.7.0`."""


_OTHER_SCHEMAS = {"choices", "steps", "definitions"}
"""Parts of a pydantic schema that are schemas, in addition to those with that name."""


def _as_written(found: object) -> object:
    if isinstance(found, bool | str | bytes):
        raise PydanticKnownError("int_type")
    return found  # 4.0 is 4: JSON has one kind of number


def _unconverted(part: Any) -> Any:
    """The same schema with booleans and numbers that are never converted."""
    if isinstance(part, list):
        return [_unconverted(one) for one in cast("list[Any]", part)]
    if isinstance(part, dict):
        schema = cast("dict[str, Any]", part)
        if schema.get("type") in {"bool", "float"}:
            return {**schema, "strict": True}  # an integer is a number too
        if schema.get("type") == "int":
            return no_info_before_validator_function(_as_written, cast("CoreSchema", schema))
        if schema.get("function") == {"type": "no-info", "function": _as_written}:
            return schema
        return {
            key: {name: _unconverted(one) for name, one in cast("dict[str, Any]", value).items()}
            if key == "fields"
            else _unconverted(value)
            if key.endswith("schema") or key in _OTHER_SCHEMAS
            else value
            for key, value in schema.items()
        }
    return part


@cache
def _conditions(kind: type[BaseModel]) -> list[RawRow]:
    """What fields of a model must not be together: the rows of `conditions.jsonl` that name it or a
    model that it extends. `when` is that of `findings.row_rules`, with paths that begin at the
    model; the message contains fields by their names, and `values`: name -> path."""
    names = [one.__name__ for one in kind.__mro__]
    return [row for row in _rows(Path(__file__).parent, "conditions") if row["of"] in names]


class PlainModel(BaseModel):
    """A model that accepts booleans and numbers as written and converts none, and whose fields fit
    each other.

    pydantic reads `"yes"` and 1 as true, `"8"` and true as integers; Kubernetes and the providers
    refuse them.
    """

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        return cast("CoreSchema", _unconverted(handler(source)))

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        for row in _conditions(type(self)):
            if holds(row["when"], cast("Any", self)):
                text, at = row["message"], row.get("values", {})
                facts = {name: value_of(self, at.get(name, name)) for name, _ in FACT.findall(text)}
                raise ValueError(filled(text, facts))
        return self


class SpecModel(PlainModel):
    """A part of the declaration. Files and JSON write camelCase, Python reads snake_case."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=False,
        defer_build=True,  # a validator is built on first use; most are never used
    )


class OneOf(SpecModel):
    """Alternatives, of which exactly one is given."""

    example: ClassVar[str]
    """The form in a file, for the error."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.modes) != 1:
            names = ", ".join(map(to_camel, type(self).model_fields))
            found = " and ".join(self.modes) or "none"
            raise ValueError(
                f"exactly one of {names} is needed, found {found}; write one, such as "
                f"`{self.example}`"
            )
        return self

    @property
    def modes(self) -> list[str]:
        """The alternatives that are given, in the spelling of the file."""
        fields = type(self).model_fields
        return [_in_files(name) for name in fields if getattr(self, name) is not None]

    @property
    def mode(self) -> str:
        """The alternative that is given, in the spelling of the file."""
        return self.modes[0]


DnsLabel = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=63)
]
"""A name Kubernetes accepts as an RFC 1123 label: at most 63 of a-z, 0-9 and inner hyphens."""

PoolName = Annotated[
    str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=40)
]
"""Name of a pool: an RFC 1123 label that starts with a letter, at most 40 characters, so that every
derived name (GKE node pools allow 40, Kubernetes labels 63) is valid."""

SecretName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=253),
]
"""Name of a Kubernetes Secret: specs name Secrets and never contain them."""

Port = Annotated[int, Field(ge=1, le=65535)]


@dataclass(frozen=True, slots=True)
class Wired:
    """Marks an argument of a component that may be an Output, which no model can validate."""

    written: str
    """Its type, as a TypedDict has it."""


OneInput = Annotated[Any, Wired("pulumi.Input[str]")]
"""Text that another resource may give."""


class Platform(StrEnum):
    """Platform of the fleet."""

    EKS = "eks"
    GKE = "gke"
    VSPHERE = "vsphere"
    OPENSHIFT = "openshift"
    """OpenShift on vSphere."""
    OPENSHIFT_AWS = "openshiftAws"
    """OpenShift on AWS."""
    OPENSHIFT_GCP = "openshiftGcp"
    """OpenShift on Google Cloud."""
    EXISTING = "existing"
    """Any existing cluster with existing nodes."""
    SANDBOX = "sandbox"
    """The local control plane with simulated GPU nodes."""

    @property
    def section(self) -> str:
        """Attribute of a pool that has the platform's options."""
        return self.name.lower()


class Ownership(StrEnum):
    """Owner of the resource."""

    MANAGED = "managed"
    """gpufleet creates, changes and deletes it."""
    EXISTING = "existing"
    """It exists: nothing is created, but contract, quotas and spend include it."""
    GITOPS = "gitops"
    """Only rendered to files (`gpufleet render`); another tool applies them."""
