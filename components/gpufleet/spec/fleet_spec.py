"""FleetSpec: the declaration of a cluster's GPUs, and the only input model."""

from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.environment import strict_prices
from gpufleet.spec.acceptance import AcceptancePolicy
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import DnsLabel, Platform, SpecModel
from gpufleet.spec.cluster import Cluster
from gpufleet.spec.health import HealthPolicy
from gpufleet.spec.monitoring import Monitoring
from gpufleet.spec.pool import GpuPool, Provisioner
from gpufleet.spec.queues import Queues

Usd = Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)]
"""US dollars, more than 0."""


class PriceBasis(StrEnum):
    """Price basis if the catalogue has no price for the cluster's region."""

    STRICT = "strict"
    """No price: the price is not known, and the spend is unbounded."""
    ESTIMATE = "estimate"
    """The price of another region, which a finding names."""


class Budget(SpecModel):
    """Cost limit of the fleet."""

    usd_per_hour: Usd
    """Maximum cost of the fleet in one hour, all pools at their largest size."""


class FleetSpec(SpecModel):
    """One cluster's GPU fleet, without connections; names of Secrets, never their contents."""

    catalogue: Annotated[str, StringConstraints(pattern=r"^[0-9]{4}\.[0-9]{2}$")]
    """Edition of facts and pins, quoted: `"2026.11"`. A new one is an explicit, reviewed step."""
    catalogue_overlay: str | None = None
    """File or folder with your own facts, in addition to the edition: a path from the working
    directory, which for a Pulumi program is the folder of Pulumi.yaml (docs/catalogue.md). Default:
    the value of the environment variable GPUFLEET_CATALOGUE_OVERLAY, else none."""
    platform: Platform
    """`eks`, `gke`, `vsphere`, `openshift` (on vSphere), `openshiftAws`, `openshiftGcp`, `existing`
    (nodes that exist already), or `sandbox`, the local control plane."""
    environment: DnsLabel = "dev"
    """`dev`, `staging`, `prod`: chooses the policy profile. Default dev."""
    cluster: Cluster
    """The cluster the pools join."""
    provisioner: Provisioner = Provisioner.MANAGED
    """Program that adds and removes nodes, unless a pool declares another. Default managed."""
    pools: Annotated[tuple[GpuPool, ...], Field(min_length=1, max_length=2000)]
    """1 to 2000 pools with unique names."""
    addons: Addons = Field(default_factory=Addons)
    """Cluster-wide add-ons. Default: as the pools imply."""
    queues: Queues | None = None
    """Default: no queues."""
    monitoring: Monitoring | None = None
    """Metrics, alerts, dashboards. Default: none."""
    health: HealthPolicy | None = None
    """Handling of broken nodes, unless a pool declares another. Default: as the platform's own
    options declare, without a floor."""
    acceptance: AcceptancePolicy | None = None
    """Tests that nodes must pass before work, unless a pool declares others. Default: none."""
    budget: Budget | None = None
    """Default: no budget, which the prod policy profile refuses."""
    prices: PriceBasis | None = None
    """Price basis if no price of the cluster's region is known: `strict` (none) or `estimate` (the
    price of another region). Default: strict in production, otherwise estimate."""
    name_prefix: DnsLabel | None = None
    """Prefix of every cloud resource's name. Default: the cluster's name."""
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Tags (AWS), labels (Google), categories (vSphere) on every resource that supports them."""

    @property
    def resource_prefix(self) -> str:
        """Prefix of the names of the fleet's resources."""
        return self.name_prefix or self.cluster.name

    @cached_property  # read for each pool
    def nvsentinel_acts(self) -> bool:
        """Whether NVSentinel acts on nodes of a pool."""
        policies = (pool.health or self.health for pool in self.pools)
        return any(one is not None and one.nvsentinel_acts for one in policies)

    @property
    def strict_prices(self) -> bool:
        """Whether a price of another region counts as not known."""
        return strict_prices(self.environment, self.prices)
