"""Plain facts of OpenShift on AWS."""

from gpufleet.catalogue import AWS
from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.platforms.openshift.beta_claims import TECHNOLOGY_PREVIEW
from gpufleet.platforms.openshift.health_check import REPAIRERS
from gpufleet.platforms.openshift.network_parts import NETWORK_PARTS
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Provisioner

FACTS = PlatformFacts(
    platform=Platform.OPENSHIFT_AWS,
    title="OpenShift on AWS",
    clouds=(AWS,),
    example_region="us-east-1",
    cluster_fields=("region",),
    provisioners=(Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER),
    # AWSMachineProviderConfig: spotMarketOptions, capacityReservationId, marketType. A machine has
    # one network interface, so that EFA on all cards cannot be had.
    capacity=("onDemand", "spot", "reserved", "capacityBlock"),
    default_image="rhcos",
    images_of=Platform.OPENSHIFT,
    lifecycle_manager=True,
    repairers=REPAIRERS,
    repair_options=("openshift_aws.health.enabled", "openshift_aws.health.max_unhealthy"),
    janitor="aws",
    network_parts=NETWORK_PARTS,
    console_dashboards=True,
    beta_claims=TECHNOLOGY_PREVIEW,
)
