"""Plain facts of OpenShift on AWS."""

from dataclasses import replace

from gpufleet.catalogue import AWS
from gpufleet.platforms.openshift.facts import FACTS as OPENSHIFT
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric

FACTS = replace(
    OPENSHIFT,
    platform=Platform.OPENSHIFT_AWS,
    title="OpenShift on AWS",
    clouds=(AWS,),
    example_region="us-east-1",
    cluster_fields=("region",),
    # AWSMachineProviderConfig: spotMarketOptions, capacityReservationId, marketType. A machine has
    # one network interface, so that EFA on all cards is not possible.
    fabrics=(Fabric.NONE,),
    capacity=("onDemand", "spot", "reserved", "capacityBlock"),
    images_of=Platform.OPENSHIFT,
    rdma_by_network_operator=False,
    vgpu=False,
    repair_options=("openshift_aws.health.enabled", "openshift_aws.health.max_unhealthy"),
    janitor="aws",
)
