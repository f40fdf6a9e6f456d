"""Plan of a GKE cluster and its network: validated, rendered, without Outputs.

Sources: hashicorp/terraform-provider-google e03b762 `google_container_cluster`,
`google_compute_subnetwork`; 054ced1 `google/services/compute/resource_compute_router_nat.go`; GKE
documentation, `service-accounts`, `alias-ips`, `hardening-your-cluster`.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import combinations
from pathlib import Path
from typing import Any

from gpufleet.catalogue.google_zones import is_zone_of, nearest_zone, region_of_google_zone
from gpufleet.components_base.cluster_networks import (
    ipv4_network,
    validate_public_access,
)
from gpufleet.components_base.component import ComponentPlan
from gpufleet.components_base.refused_arguments import in_own_words, refused_arguments
from gpufleet.findings import Finding, findings_in, has_errors, rules_in
from gpufleet.platforms.clouds.gcp_labels import resource_label
from gpufleet.platforms.gke.gcp_objects import CLUSTER, ROUTER_NAT
from gpufleet.platforms.gke.gpu_networks import SUBNETWORK
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.render.data_files import data_file
from gpufleet.spec.platforms.gke import DeclaredGkeCluster

_finding, _rules = findings_in(__file__), rules_in(__file__)

SERVICES = ("compute.googleapis.com", "container.googleapis.com")
"""APIs that are off in a new project."""
NODE_ROLE = "roles/container.defaultNodeServiceAccount"
"""Minimum rights of nodes: logs, metrics, images."""
IMAGE_ROLE = "roles/artifactregistry.reader"
"""Right to pull images of the project's own registry."""
LONGEST_ACCOUNT = 30
"""Longest id of a service account (IAM, `projects.serviceAccounts.create`)."""


@dataclass(frozen=True, kw_only=True)
class GkeClusterPlan(ComponentPlan):
    """A GKE cluster with its network."""

    declared: DeclaredGkeCluster

    @property
    def name(self) -> str:
        """The cluster's."""
        return self.declared.cluster_name

    @property
    def labels(self) -> dict[str, str]:
        """Resource labels."""
        return {
            resource_label(key): resource_label(value) for key, value in self.declared.tags.items()
        }

    @property
    def account_id(self) -> str:
        """Id of the nodes' service account."""
        whole = f"{self.name}-nodes"
        if len(whole) <= LONGEST_ACCOUNT:
            return whole
        mark = hashlib.sha256(self.name.encode()).hexdigest()[:4]
        return f"{self.name[: LONGEST_ACCOUNT - 11].rstrip('-')}-{mark}-nodes"


def gke_cluster_plan(declared: DeclaredGkeCluster) -> tuple[GkeClusterPlan, list[Finding]]:
    """The plan, and errors that prevent its creation."""
    plan = GkeClusterPlan(declared=declared)
    findings = [*_validate_zones(declared), *_validate_ranges(declared)]
    if has_errors(findings):
        return plan, findings
    made = cluster_resources(plan)
    tokens = {
        CLUSTER: "cluster",
        NODE_POOL: "systemPool",
        SUBNETWORK: "subnetwork",
        ROUTER_NAT: "nat",
    }
    refused = (
        one for type_, kind in tokens.items() for one in refused_arguments(type_, made[kind])
    )
    return plan, [
        *findings,
        *in_own_words(data_file("cluster_arguments", {}, Path(__file__).parent) or {}, refused),
    ]


def _validate_zones(declared: DeclaredGkeCluster) -> Iterator[Finding]:
    region = region_of_google_zone(declared.region)
    if region is not None:
        yield _finding("cluster-zones", found=declared.region, region=region)
        return
    for index, zone in enumerate(declared.zones):
        fits = is_zone_of(zone, declared.region)
        if fits is None:
            yield _finding(
                "zone-unknown",
                f"zones[{index}]",
                found=zone,
                nearest_zone=nearest_zone(zone, declared.region),
            )
        elif not fits:
            yield _finding(
                "cluster-zones/region", f"zones[{index}]", found=zone, region=declared.region
            )


def _validate_ranges(declared: DeclaredGkeCluster) -> Iterator[Finding]:
    given = {
        "cidr": declared.cidr,
        "podsCidr": declared.pods_cidr,
        "servicesCidr": declared.services_cidr,
    }
    ranges: dict[str, IPv4Network] = {}
    for key, text in given.items():
        network = ipv4_network(text)
        if network is None or not network.is_private:
            yield _finding("cluster-network", key, found=text)
        else:
            ranges[key] = network
    for (one, first), (other, second) in combinations(ranges.items(), 2):
        if first.overlaps(second):
            known = {"second": str(second), "other": other, "first": first, "own": one}
            yield from _rules("ranges", other, **known)
    yield from validate_public_access(declared.public_access_cidrs)


def cluster_resources(plan: GkeClusterPlan) -> dict[str, dict[str, Any]]:
    """Arguments of the cluster, its subnet (`subnetwork`), NAT and nodes of controllers
    (`systemPool`), without values of other resources."""
    declared = plan.declared
    public = declared.public_access_cidrs
    known = {
        **declared.model_dump(exclude={"system_nodes"}),
        **declared.system_nodes.model_dump(),
        "name": plan.name,
        "labels": plan.labels,
        "private_endpoint": not public,
        "authorized": [{"cidrBlock": cidr} for cidr in public],
    }
    made = data_file("cluster", known, Path(__file__).parent) or {}
    if declared.zones:
        made["cluster"]["nodeLocations"] = list(declared.zones)
    if declared.gcs_fuse:
        made["cluster"]["addonsConfig"] = {"gcsFuseCsiDriverConfig": {"enabled": True}}
    return made
