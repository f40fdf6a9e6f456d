"""Plain facts of Google Kubernetes Engine."""

from gpufleet.catalogue import GCP, InstanceType
from gpufleet.contract.health import Repairer
from gpufleet.contract.platform_facts import BetaClaims, PlatformFacts, PlatformPlugin
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric, Provisioner


def fabric_of(row: InstanceType) -> Fabric:
    """The kind of GPUDirect that a machine type has."""
    return Fabric((row.gpudirect or "none").lower().replace("gpudirect", "").strip(" -"))


AUTO_REPAIR = Repairer(
    who="GKE node auto-repair",
    watches="a node that is not ready or does not report, and a full boot disk",
    repairs="drains the node and creates it again under its name",
    cannot="see a broken GPU while the node is ready, or take a floor or a number of nodes at once",
    after="about 10 minutes (disk: 30), then up to an hour of draining",
    keeps="fewer nodes at a time the more are unhealthy; there is no documented number",
    source="Google Cloud documentation, GKE, Auto-repair nodes (read 2026-11-29)",
)

FACTS = PlatformFacts(
    platform=Platform.GKE,
    title="GKE",
    clouds=(GCP,),
    example_region="us-central1",
    cluster_fields=("region", "project", "autopilot"),
    vendors=("nvidia", "google"),
    provisioners=(Provisioner.MANAGED, Provisioner.COMPUTE_CLASS),
    # GKE runs its own autoscaler, and a second one would conflict with it (GKE documentation).
    fabrics=(Fabric.NONE, Fabric.TCPX, Fabric.TCPXO, Fabric.RDMA),
    fabric_of=fabric_of,
    # NodeConfig.
    capacity=("onDemand", "spot", "reserved", "flexStart", "queued"),
    spot_takes_a_price=False,
    scales_each_purchase=True,
    managed_pools_scale=True,
    job_capacity=("flexStart",),
    repairers={
        Provisioner.MANAGED: AUTO_REPAIR,
        Provisioner.COMPUTE_CLASS: AUTO_REPAIR,
    },
    repair_options=("gke.auto_repair", "gke.node_pool.management.autoRepair"),
    janitor="gcp",
    one_mig_profile=True,
    # "The kubernetes.io/ and k8s.io/ prefixes are reserved by Kubernetes Core components and cannot
    # be specified" (terraform-provider-google, container_cluster, node_config.labels).
    kubelet_sets_labels=True,
    default_image="cos",
    # NVIDIA topograph and the examples of kubernetes-sigs/kueue use Google's labels so (read
    # 2026-11-21). In addition every node has its own name.
    topology_levels=(
        "cloud.google.com/gce-topology-block",
        "cloud.google.com/gce-topology-subblock",
        "cloud.google.com/gce-topology-host",
        "kubernetes.io/hostname",
    ),
    plugin=PlatformPlugin(
        owner="GKE",
        setting="gke.driver",
        chosen_by="gke",
        switched_off_by="gke: {driver: gpuOperator}",
    ),
    # Directory of Google's installer for the driver (NVIDIA/dcgm-exporter issue 59; Google Cloud
    # documentation, NVIDIA DCGM exporter; read 2026-11-22).
    driver_root="/home/kubernetes/bin/nvidia",
    # NVIDIA cloud-native-docs 52dcb7b `gpu-operator/google-gke.rst`.
    quota_for_critical_pods=True,
    beta_claims=BetaClaims(
        "1.32",
        "have GKE 1.32.1-gke.1489001 or newer and enable the beta API for the cluster: `gcloud "
        "container clusters update --enable-kubernetes-unstable-apis=` with "
        "resource.k8s.io/v1beta1/ before deviceclasses, resourceclaims, resourceclaimtemplates and "
        "resourceslices; it cannot be disabled again",
        "GKE documentation, `set-up-dra` and `use-beta-apis`",
    ),
)
