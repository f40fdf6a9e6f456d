"""What a GKE cluster and its network are: validated, rendered, without Outputs.

Sources: hashicorp/terraform-provider-google e03b762 `google_container_cluster`,
`google_compute_subnetwork`; 054ced1 `google/services/compute/resource_compute_router_nat.go`; GKE
documentation, `service-accounts`, `alias-ips`, `hardening-your-cluster`.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import combinations
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from gpufleet.catalogue.google_zones import is_zone_of, nearest_zone, region_of_google_zone
from gpufleet.components_base.cluster_networks import ipv4_network, validate_public_access
from gpufleet.components_base.component import ComponentPlan
from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.findings import Finding, findings_in
from gpufleet.platforms.clouds.gcp_labels import resource_label
from gpufleet.platforms.gke.gcp_objects import CLUSTER, ROUTER_NAT
from gpufleet.platforms.gke.gpu_networks import SUBNETWORK
from gpufleet.platforms.gke.names import CLUSTER_NAME, LONGEST_NAME, NODE_POOL
from gpufleet.spec.base import SpecModel
from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION, KubernetesVersion

_finding = findings_in(__file__)

SERVICES = ("compute.googleapis.com", "container.googleapis.com")
"""APIs that a new project has off."""
NODE_ROLE = "roles/container.defaultNodeServiceAccount"
"""Least rights of nodes: logs, metrics, images."""
IMAGE_ROLE = "roles/artifactregistry.reader"
"""To pull images of the project's own registry."""
PODS, SERVICES_RANGE = "pods", "services"
"""Names of the secondary ranges."""
LONGEST_ACCOUNT = 30
"""Longest id of a service account (IAM, `projects.serviceAccounts.create`)."""


class GkeSystemNodes(SpecModel):
    """The node pool that runs controllers: GPU nodes are tainted."""

    machine_type: str = "e2-standard-4"
    nodes_per_zone: int = Field(default=1, ge=1)
    disk_gib: int = Field(default=50, ge=12)


class DeclaredGkeCluster(SpecModel):
    """The arguments of `GkeCluster`."""

    project: Annotated[
        str, StringConstraints(pattern=r"^([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$")
    ]
    cluster_name: Annotated[str, StringConstraints(pattern=CLUSTER_NAME, max_length=LONGEST_NAME)]
    region: str
    zones: tuple[str, ...] = ()
    kubernetes_version: KubernetesVersion = DEFAULT_KUBERNETES_VERSION
    release_channel: str = "REGULAR"
    cidr: str = "10.0.0.0/20"
    pods_cidr: str = "10.4.0.0/14"
    services_cidr: str = "10.8.0.0/20"
    public_access_cidrs: tuple[str, ...] = ()
    multi_networking: bool = False
    gcs_fuse: bool = False
    system_nodes: GkeSystemNodes = GkeSystemNodes()
    enable_services: bool = True
    deletion_protection: bool = False
    tags: dict[str, str] = Field(default_factory=dict[str, str])


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
    """The plan, and what prevents making it."""
    plan = GkeClusterPlan(declared=declared)
    rendered = {
        CLUSTER: gke_cluster_arguments(plan),
        NODE_POOL: gke_system_pool(plan),
        SUBNETWORK: subnetwork_arguments(plan),
        ROUTER_NAT: nat_arguments(plan),
    }
    return plan, [
        *_validate_zones(declared),
        *_validate_ranges(declared),
        *(one for type_, given in rendered.items() for one in refused_arguments(type_, given)),
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
            yield _finding(
                "cluster-network/common",
                other,
                second=second,
                other=other,
                first=first,
                one=one,
                found=str(second),
            )
    yield from validate_public_access(declared.public_access_cidrs)


def subnetwork_arguments(plan: GkeClusterPlan) -> dict[str, Any]:
    """Arguments of the subnet of nodes, pods and services, without its network."""
    declared = plan.declared
    return {
        "name": f"{plan.name}-nodes",
        "region": declared.region,
        "ipCidrRange": declared.cidr,
        "privateIpGoogleAccess": True,
        "secondaryIpRanges": [
            {"rangeName": PODS, "ipCidrRange": declared.pods_cidr},
            {"rangeName": SERVICES_RANGE, "ipCidrRange": declared.services_cidr},
        ],
    }


def nat_arguments(plan: GkeClusterPlan) -> dict[str, Any]:
    """Arguments of the NAT, without its router."""
    return {
        "name": f"{plan.name}-nat",
        "region": plan.declared.region,
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
    }


def gke_cluster_arguments(plan: GkeClusterPlan) -> dict[str, Any]:
    """Arguments of the cluster, without its network.

    The node pool that GKE makes with a cluster goes at once: its nodes would have the project's
    default service account.
    """
    declared = plan.declared
    project, public = declared.project, declared.public_access_cidrs
    arguments: dict[str, Any] = {
        "name": plan.name,
        "location": declared.region,
        "project": project,
        "minMasterVersion": declared.kubernetes_version,
        "releaseChannel": {"channel": declared.release_channel},
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        "networkingMode": "VPC_NATIVE",
        "datapathProvider": "ADVANCED_DATAPATH",
        "enableMultiNetworking": declared.multi_networking,
        "ipAllocationPolicy": {
            "clusterSecondaryRangeName": PODS,
            "servicesSecondaryRangeName": SERVICES_RANGE,
        },
        "privateClusterConfig": {
            "enablePrivateNodes": True,
            "enablePrivateEndpoint": not public,
        },
        "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": cidr} for cidr in public]},
        "workloadIdentityConfig": {"workloadPool": f"{project}.svc.id.goog"},
        "enableShieldedNodes": True,
        "deletionProtection": declared.deletion_protection,
        "resourceLabels": plan.labels,
    }
    if declared.zones:
        arguments["nodeLocations"] = list(declared.zones)
    if declared.gcs_fuse:
        arguments["addonsConfig"] = {"gcsFuseCsiDriverConfig": {"enabled": True}}
    return arguments


def gke_system_pool(plan: GkeClusterPlan) -> dict[str, Any]:
    """Arguments of the node pool of system nodes, without what is wired."""
    system = plan.declared.system_nodes
    return {
        "name": "system",
        "location": plan.declared.region,
        "nodeCount": system.nodes_per_zone,
        "management": {"autoRepair": True, "autoUpgrade": True},
        "nodeConfig": {
            "machineType": system.machine_type,
            "diskSizeGb": system.disk_gib,
            "diskType": "pd-balanced",
            "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "shieldedInstanceConfig": {"enableSecureBoot": True},
            "workloadMetadataConfig": {"mode": "GKE_METADATA"},
            "resourceLabels": plan.labels,
        },
    }
