"""FleetSpec: the one declaration of a cluster's GPUs, and the only input model."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.spec.addons import Addons
from gpufleet.spec.base import DnsLabel, Platform, SpecModel
from gpufleet.spec.cluster import Cluster
from gpufleet.spec.pool import GpuPool, Provisioner

Usd = Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)]
"""US dollars, more than 0."""


class Team(SpecModel):
    """A team and its share of the fleet."""

    name: DnsLabel
    """Name of the team, and of its queue."""
    share: float = Field(gt=0, le=1)
    """Part of every pool's advertised resources that is this team's nominal quota: more than 0, at
    most 1. The shares of all teams add up to at most 1."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces whose jobs run on this quota. Default: one called like the team."""


class Queues(SpecModel):
    """Kueue queues and quotas, derived from pools and shares."""

    teams: Annotated[tuple[Team, ...], Field(min_length=1, max_length=200)]
    """1 to 200 teams."""


class MonitoringBackend(StrEnum):
    """Which objects scrape and alert."""

    PROMETHEUS = "prometheus"
    """ServiceMonitor and PrometheusRule of the Prometheus operator."""
    VICTORIA_METRICS = "victoriaMetrics"
    """VMServiceScrape and VMRule."""
    NONE = "none"


class Monitoring(SpecModel):
    """GPU metrics, alerts and dashboards."""

    backend: MonitoringBackend = MonitoringBackend.PROMETHEUS
    """Default prometheus."""


class Budget(SpecModel):
    """What the fleet may cost."""

    usd_per_hour: Usd
    """Most the fleet may ever cost in one hour, all pools at their largest size."""


class FleetSpec(SpecModel):
    """One cluster's GPU fleet: shape, not wiring; names of Secrets, never their contents."""

    catalogue: Annotated[str, StringConstraints(pattern=r"^[0-9]{4}\.[0-9]{2}$")]
    """Edition of facts and pins, quoted: `"2026.11"`. Moving it is an explicit, reviewed change."""
    platform: Platform
    """`eks`, `gke`, `vsphere`, `openshift`, or `sandbox`, the local control plane."""
    environment: DnsLabel = "dev"
    """`dev`, `staging`, `prod`: chooses the policy profile. Default dev."""
    cluster: Cluster
    """The cluster the pools join."""
    provisioner: Provisioner = Provisioner.MANAGED
    """Who adds and removes nodes, unless a pool says otherwise. Default managed."""
    pools: Annotated[tuple[GpuPool, ...], Field(min_length=1, max_length=2000)]
    """1 to 2000 pools, each with a name of its own."""
    addons: Addons = Field(default_factory=Addons)
    """What exists once per cluster. Default: what the pools imply."""
    queues: Queues | None = None
    """Default: no queues."""
    monitoring: Monitoring = Field(default_factory=Monitoring)
    """Metrics, alerts, dashboards. Default: for the Prometheus operator."""
    budget: Budget | None = None
    """Default: no budget, which the prod policy profile refuses."""
    name_prefix: DnsLabel | None = None
    """Prefix of every cloud resource's name. Default: the cluster's name."""
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Tags (AWS), labels (Google), categories (vSphere) on every resource that takes them."""
