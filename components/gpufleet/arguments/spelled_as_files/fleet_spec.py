"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.fleet_spec`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NotRequired, TypedDict

from gpufleet.arguments.spelled_as_files.acceptance import AcceptancePolicyDict
from gpufleet.arguments.spelled_as_files.addons import AddonsDict
from gpufleet.arguments.spelled_as_files.cluster import ClusterDict
from gpufleet.arguments.spelled_as_files.health import HealthPolicyDict
from gpufleet.arguments.spelled_as_files.monitoring import MonitoringDict
from gpufleet.arguments.spelled_as_files.pool import GpuPoolDict
from gpufleet.arguments.spelled_as_files.queues import QueuesDict
from gpufleet.arguments.words import PlatformWord, PriceBasisWord, ProvisionerWord


class BudgetDict(TypedDict):
    """Cost limit of the fleet."""

    usdPerHour: str | float | Decimal
    """Maximum cost of the fleet in one hour, all pools at their largest size."""


class FleetSpecArgs(TypedDict):
    """One cluster's GPU fleet, without connections; names of Secrets, never their contents."""

    catalogue: str
    """Edition of facts and pins, quoted: `"2026.11"`. A new one is an explicit, reviewed step."""
    catalogueOverlay: NotRequired[str]
    """File or folder with your own facts, in addition to the edition: a path from the working
    directory, which for a Pulumi program is the folder of Pulumi.yaml (docs/catalogue.md).
    Default: the value of the environment variable GPUFLEET_CATALOGUE_OVERLAY, else none."""
    platform: PlatformWord
    """One of `eks`, `gke`, `vsphere`, `openshift`, `openshiftAws`, `openshiftGcp`, `existing`,
    `sandbox`. `eks`, `gke`, `vsphere`, `openshift` (on vSphere), `openshiftAws`, `openshiftGcp`,
    `existing` (nodes that exist already), or `sandbox`, the local control plane."""
    environment: NotRequired[str]
    """`dev`, `staging`, `prod`: chooses the policy profile. Default dev."""
    cluster: ClusterDict
    """The cluster the pools join."""
    provisioner: NotRequired[ProvisionerWord]
    """One of `managed`, `karpenter`, `autoMode`, `clusterAutoscaler`, `computeClass`. Program
    that adds and removes nodes, unless a pool declares another. Default managed."""
    pools: Sequence[GpuPoolDict]
    """1 to 2000 pools with unique names."""
    addons: NotRequired[AddonsDict]
    """Cluster-wide add-ons. Default: as the pools imply."""
    queues: NotRequired[QueuesDict]
    """Default: no queues."""
    monitoring: NotRequired[MonitoringDict]
    """Metrics, alerts, dashboards. Default: none."""
    health: NotRequired[HealthPolicyDict]
    """Handling of broken nodes, unless a pool declares another. Default: as the platform's own
    options declare, without a floor."""
    acceptance: NotRequired[AcceptancePolicyDict]
    """Tests that nodes must pass before work, unless a pool declares others. Default: none."""
    budget: NotRequired[BudgetDict]
    """Default: no budget, which the prod policy profile refuses."""
    prices: NotRequired[PriceBasisWord]
    """One of `strict`, `estimate`. Price basis if no price of the cluster's region is known:
    `strict` (none) or `estimate` (the price of another region). Default: strict in production,
    otherwise estimate."""
    namePrefix: NotRequired[str]
    """Prefix of every cloud resource's name. Default: the cluster's name."""
    tags: NotRequired[Mapping[str, str]]
    """Tags (AWS), labels (Google), categories (vSphere) on every resource that supports them."""
