"""What every part of the FleetSpec has in common: frozen, camelCase in files, no unknown keys."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

KmsKeyArn = Annotated[
    str,
    StringConstraints(pattern=r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[\w/-]+$"),
]
"""ARN of a key or an alias of AWS KMS."""


class SpecModel(BaseModel):
    """A part of the declaration. Files and JSON write camelCase, Python reads snake_case."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=False,
        strict=False,
    )


def _no_truth_value(found: object) -> object:
    if isinstance(found, bool):
        raise PydanticCustomError("number_from_bool", "a whole number is wanted")
    return found


NO_TRUTH_VALUE = BeforeValidator(_no_truth_value)
"""Of a whole number. Python counts `true` as 1: `max: true` is a mistake, not one node."""


def _no_true_number(found: object) -> object:
    if isinstance(found, bool):
        raise PydanticCustomError("number_from_bool", "a number is wanted")
    return found


NO_TRUE_NUMBER = BeforeValidator(_no_true_number)
"""Of a number that can have a fraction: `belowPercent: true` is not 1 percent."""

DnsLabel = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=63)
]
"""A name Kubernetes accepts as an RFC 1123 label: at most 63 of a-z, 0-9 and inner hyphens."""

PoolName = Annotated[
    str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=40)
]
"""Name of a pool: an RFC 1123 label that starts with a letter, at most 40 characters, so that every
name derived from it (GKE node pools allow 40, Kubernetes labels 63) stays legal."""

SecretName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=253),
]
"""Name of a Kubernetes Secret: specs name Secrets and never contain them."""

Port = Annotated[int, Field(ge=1, le=65535)]


class Platform(StrEnum):
    """Where the fleet runs."""

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
    """Any cluster whose nodes somebody else made."""
    SANDBOX = "sandbox"
    """The local control plane with simulated GPU nodes."""

    @property
    def section(self) -> str:
        """Attribute of a pool that has the platform's options."""
        return self.name.lower()


class Ownership(StrEnum):
    """Who makes and changes the thing."""

    MANAGED = "managed"
    """gpufleet creates, changes and deletes it."""
    EXISTING = "existing"
    """Someone else made it: nothing is created, but contract, quotas and spend count it."""
    GITOPS = "gitops"
    """Only rendered to files (`gpufleet render`); an outside tool applies them."""
