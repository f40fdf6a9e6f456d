"""Inputs of components: what restates `gpufleet.spec.olm`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import ApprovalWord


class OperatorPackageArgs(TypedDict):
    """Version of one operator."""

    channel: NotRequired[str]
    """Channel of updates. Default: that of the pinned version, `v26.7`; `stable` for Node Feature
    Discovery, whose version is the cluster's."""
    starting_csv: NotRequired[str]
    """ClusterServiceVersion to start with. Default: of the pinned version; for Node Feature
    Discovery the latest of the channel."""


class NodeFeatureDiscoveryPackageArgs(TypedDict):
    """Node Feature Discovery, by Red Hat."""

    channel: NotRequired[str]
    """Channel of updates. Default: that of the pinned version, `v26.7`; `stable` for Node Feature
    Discovery, whose version is the cluster's."""
    starting_csv: NotRequired[str]
    """ClusterServiceVersion to start with. Default: of the pinned version; for Node Feature
    Discovery the latest of the channel."""
    image: NotRequired[str]
    """Image of its operand, which the NodeFeatureDiscovery object must name since OpenShift 4.12.
    Default: Red Hat's, of the release with the cluster's Kubernetes version."""


class LifecycleManagerArgs(TypedDict):
    """Operators on OpenShift. Their settings are those of `gpuOperator` and `networkOperator`."""

    approval: NotRequired[ApprovalWord]
    """One of `automatic`, `manual`. Approval of new versions. Default automatic."""
    catalog_namespace: NotRequired[str]
    """Namespace of the catalogues. Default `openshift-marketplace`."""
    certified_catalog: NotRequired[str]
    """CatalogSource with NVIDIA's operators; a mirrored one at a site without Internet access.
    Default `certified-operators`."""
    redhat_catalog: NotRequired[str]
    """CatalogSource with Red Hat's operators. Default `redhat-operators`."""
    wait_minutes: NotRequired[int]
    """Maximum time that an update waits until an operator is installed and its kinds exist, 0 to
    240 minutes; 0 does not wait: only if they are already installed. Default 30."""
    gpu_operator: NotRequired[OperatorPackageArgs]
    """Default: the version of `addons.gpuOperator`."""
    network_operator: NotRequired[OperatorPackageArgs]
    """Default: the version of `addons.networkOperator`."""
    node_feature_discovery: NotRequired[NodeFeatureDiscoveryPackageArgs]
    """Default: channel `stable`."""


class OlmOperatorArgs(TypedDict):
    """Inputs of `OlmOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    operator: str
    """One of `gpu-operator`, `network-operator`, `node-feature-discovery`."""
    version: NotRequired[str]
    """Version, `v26.7.0`. Default: the catalogue's pin; Node Feature Discovery has none, it
    follows the cluster."""
    settings: NotRequired[LifecycleManagerArgs]
    """Catalogues, channel, approval. Default: the standard catalogues, automatic approval."""
