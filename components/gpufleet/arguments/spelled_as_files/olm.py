"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.olm`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import ApprovalWord


class OperatorPackageDict(TypedDict):
    """Version of one operator."""

    channel: NotRequired[str]
    """Channel of updates. Default: that of the pinned version, `v26.7`; `stable` for Node Feature
    Discovery, whose version is the cluster's."""
    startingCsv: NotRequired[str]
    """ClusterServiceVersion to start with. Default: of the pinned version; for Node Feature
    Discovery the latest of the channel."""


class NodeFeatureDiscoveryPackageDict(TypedDict):
    """Node Feature Discovery, by Red Hat."""

    channel: NotRequired[str]
    """Channel of updates. Default: that of the pinned version, `v26.7`; `stable` for Node Feature
    Discovery, whose version is the cluster's."""
    startingCsv: NotRequired[str]
    """ClusterServiceVersion to start with. Default: of the pinned version; for Node Feature
    Discovery the latest of the channel."""
    image: NotRequired[str]
    """Image of its operand, which the NodeFeatureDiscovery object must name since OpenShift 4.12.
    Default: Red Hat's, of the release with the cluster's Kubernetes version."""


class LifecycleManagerDict(TypedDict):
    """Operators on OpenShift. Their settings are those of `gpuOperator` and `networkOperator`."""

    approval: NotRequired[ApprovalWord]
    """One of `automatic`, `manual`. Approval of new versions. Default automatic."""
    catalogNamespace: NotRequired[str]
    """Namespace of the catalogues. Default `openshift-marketplace`."""
    certifiedCatalog: NotRequired[str]
    """CatalogSource with NVIDIA's operators; a mirrored one at a site without Internet access.
    Default `certified-operators`."""
    redhatCatalog: NotRequired[str]
    """CatalogSource with Red Hat's operators. Default `redhat-operators`."""
    waitMinutes: NotRequired[int]
    """Maximum time that an update waits until an operator is installed and its kinds exist, 0 to
    240 minutes; 0 does not wait: only if they are already installed. Default 30."""
    gpuOperator: NotRequired[OperatorPackageDict]
    """Default: the version of `addons.gpuOperator`."""
    networkOperator: NotRequired[OperatorPackageDict]
    """Default: the version of `addons.networkOperator`."""
    nodeFeatureDiscovery: NotRequired[NodeFeatureDiscoveryPackageDict]
    """Default: channel `stable`."""
