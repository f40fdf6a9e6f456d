"""Installation of operators on OpenShift: by Operator Lifecycle Manager, not by charts.

Kinds and fields: operator-framework/api `pkg/operators/v1alpha1/subscription_types.go`, read
2026-11-22.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.spec.base import DnsLabel, Release, SpecModel

Channel = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$")]
"""Name of a channel in a catalogue, `v26.7`, `stable`."""

StartingCsv = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\.v?[0-9][-A-Za-z0-9.+]*$")
]
"""Name of a ClusterServiceVersion, `gpu-operator-certified.v26.7.0`."""


class Approval(StrEnum):
    """Approval of a new version of an operator."""

    AUTOMATIC = "automatic"
    """By Lifecycle Manager: it starts at the pinned version and follows the channel."""
    MANUAL = "manual"
    """By an administrator, for each InstallPlan including the first: the pinned version stays."""


class OperatorPackage(SpecModel):
    """Version of one operator."""

    channel: Channel | None = None
    """Channel of updates. Default: that of the pinned version, `v26.7`; `stable` for Node Feature
    Discovery, whose version is the cluster's."""
    starting_csv: StartingCsv | None = None
    """ClusterServiceVersion to start with. Default: of the pinned version; for Node Feature
    Discovery the latest of the channel."""


class NodeFeatureDiscoveryPackage(OperatorPackage):
    """Node Feature Discovery, by Red Hat."""

    image: str | None = Field(default=None, min_length=1, max_length=400)
    """Image of its operand, which the NodeFeatureDiscovery object must name since OpenShift 4.12.
    Default: Red Hat's, of the release with the cluster's Kubernetes version."""


class LifecycleManager(SpecModel):
    """Operators on OpenShift. Their settings are those of `gpuOperator` and `networkOperator`."""

    approval: Approval = Approval.AUTOMATIC
    """Approval of new versions. Default automatic."""
    catalog_namespace: DnsLabel = "openshift-marketplace"
    """Namespace of the catalogues. Default `openshift-marketplace`."""
    certified_catalog: DnsLabel = "certified-operators"
    """CatalogSource with NVIDIA's operators; a mirrored one at a site without Internet access.
    Default `certified-operators`."""
    redhat_catalog: DnsLabel = "redhat-operators"
    """CatalogSource with Red Hat's operators. Default `redhat-operators`."""
    wait_minutes: int = Field(default=30, ge=0, le=240)
    """Maximum time that an update waits until an operator is installed and its kinds exist, 0 to
    240 minutes; 0 does not wait: only if they are already installed. Default 30."""
    gpu_operator: OperatorPackage = Field(default_factory=OperatorPackage)
    """Default: the version of `addons.gpuOperator`."""
    network_operator: OperatorPackage = Field(default_factory=OperatorPackage)
    """Default: the version of `addons.networkOperator`."""
    node_feature_discovery: NodeFeatureDiscoveryPackage = Field(
        default_factory=NodeFeatureDiscoveryPackage
    )
    """Default: channel `stable`."""


class DeclaredOlmOperator(SpecModel):
    """Inputs of `OlmOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    operator: str
    """One of `gpu-operator`, `network-operator`, `node-feature-discovery`."""
    version: Release | None = None
    """Version, `v26.7.0`. Default: the catalogue's pin; Node Feature Discovery has none, it follows
    the cluster."""
    settings: LifecycleManager = Field(default_factory=LifecycleManager)
    """Catalogues, channel, approval. Default: the standard catalogues, automatic approval."""
