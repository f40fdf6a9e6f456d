"""One GPU fleet per stack: settings, explicit providers, GpuFleet."""

import pulumi
import pulumi_kubernetes as kubernetes
import settings

from gpufleet import GpuFleet

stack = settings.load()
cluster = kubernetes.Provider(
    "cluster",
    kubeconfig=str(stack.connection.kubeconfig_file()),
    context=stack.connection.context,
    cluster_identifier=stack.connection.cluster_identifier,
)
fleet = GpuFleet(
    "fleet", {"spec": stack.fleet}, pulumi.ResourceOptions(providers={"kubernetes": cluster})
)
pulumi.export("advertised", fleet.advertised)
pulumi.export("expectedUsdPerHour", fleet.expected_usd_per_hour)
pulumi.export("maximumUsdPerHour", fleet.maximum_usd_per_hour)
