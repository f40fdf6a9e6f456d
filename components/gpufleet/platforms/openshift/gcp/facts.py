"""Plain facts of OpenShift on Google Cloud."""

from gpufleet.catalogue import GCP
from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.platforms.openshift.beta_claims import TECHNOLOGY_PREVIEW
from gpufleet.platforms.openshift.health_check import REPAIRERS
from gpufleet.platforms.openshift.network_parts import NETWORK_PARTS
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Provisioner

FACTS = PlatformFacts(
    platform=Platform.OPENSHIFT_GCP,
    title="OpenShift on Google Cloud",
    clouds=(GCP,),
    example_region="us-central1",
    cluster_fields=("region", "project"),
    provisioners=(Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER),
    # GCPMachineProviderSpec has no field for a reservation, and one network interface cannot be
    # GPUDirect's.
    capacity=("onDemand", "spot"),
    spot_takes_a_price=False,
    default_image="rhcos",
    images_of=Platform.OPENSHIFT,
    lifecycle_manager=True,
    repairers=REPAIRERS,
    repair_options=("openshift_gcp.health.enabled", "openshift_gcp.health.max_unhealthy"),
    janitor="gcp",
    network_parts=NETWORK_PARTS,
    console_dashboards=True,
    beta_claims=TECHNOLOGY_PREVIEW,
)
