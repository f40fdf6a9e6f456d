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
    """What the fleet may cost."""

    usdPerHour: str | float | Decimal
    """Most the fleet may ever cost in one hour, all pools at their largest size."""


class FleetSpecArgs(TypedDict):
    """One cluster's GPU fleet: shape, not wiring; names of Secrets, never their contents."""

    catalogue: str
    """Edition of facts and pins, quoted: `"2026.11"`. Moving it is an explicit, reviewed
    change."""
    catalogueOverlay: NotRequired[str]
    """File or folder with facts of your own, on top of the edition: a path from the working
    directory, which for a Pulumi program is the folder of Pulumi.yaml (docs/catalogue.md).
    Default: what the environment variable GPUFLEET_CATALOGUE_OVERLAY names, else none."""
    platform: PlatformWord
    """One of `eks`, `gke`, `vsphere`, `openshift`, `openshiftAws`, `openshiftGcp`, `existing`,
    `sandbox`. `eks`, `gke`, `vsphere`, `openshift` (on vSphere), `openshiftAws`, `openshiftGcp`,
    or `sandbox`, the local control plane."""
    environment: NotRequired[str]
    """`dev`, `staging`, `prod`: chooses the policy profile. Default dev."""
    cluster: ClusterDict
    """The cluster the pools join."""
    provisioner: NotRequired[ProvisionerWord]
    """One of `managed`, `karpenter`, `autoMode`, `clusterAutoscaler`, `computeClass`. Who adds
    and removes nodes, unless a pool says otherwise. Default managed."""
    pools: Sequence[GpuPoolDict]
    """1 to 2000 pools, each with a name of its own."""
    addons: NotRequired[AddonsDict]
    """What exists once per cluster. Default: what the pools imply."""
    queues: NotRequired[QueuesDict]
    """Default: no queues."""
    monitoring: NotRequired[MonitoringDict]
    """Metrics, alerts, dashboards. Default: none are made."""
    health: NotRequired[HealthPolicyDict]
    """What is done with broken nodes, unless a pool says otherwise. Default: what the platform's
    own options say, without a floor."""
    acceptance: NotRequired[AcceptancePolicyDict]
    """Tests that nodes must pass before work, unless a pool says otherwise. Default: none."""
    budget: NotRequired[BudgetDict]
    """Default: no budget, which the prod policy profile refuses."""
    prices: NotRequired[PriceBasisWord]
    """One of `strict`, `estimate`. What counts where no price of the cluster's region is known:
    `strict` (nothing) or `estimate` (the price of another region). Default: strict in production,
    otherwise estimate."""
    namePrefix: NotRequired[str]
    """Prefix of every cloud resource's name. Default: the cluster's name."""
    tags: NotRequired[Mapping[str, str]]
    """Tags (AWS), labels (Google), categories (vSphere) on every resource that takes them."""
