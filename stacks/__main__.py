"""One GPU fleet per stack: settings, explicit providers, GpuFleet."""

import importlib
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes
import settings

from gpufleet import GpuFleet
from gpufleet.gpu_fleet import GpuFleetArgs

PLATFORMS = {"eks": "eks", "gke": "gke", "vsphere": "vsphere", "openshift": "openshift"}
"""Platform -> module beside this one with what its cloud needs; the sandbox needs nothing."""

stack = settings.load()
module = PLATFORMS.get(str(stack.fleet.get("platform")))
platform: Any = None if module is None else importlib.import_module(module)
cluster = kubernetes.Provider(
    "cluster",
    kubeconfig=stack.connection.kubeconfig_text(),
    context=stack.connection.context,
    cluster_identifier=stack.connection.cluster_identifier,
)
providers: dict[str, pulumi.ProviderResource] = {"kubernetes": cluster}
arguments: dict[str, Any] = {"spec": stack.fleet}
if platform is not None:
    providers |= platform.providers(stack)
    arguments["connection"] = platform.connection(stack)
fleet = GpuFleet(
    "fleet", cast(GpuFleetArgs, arguments), pulumi.ResourceOptions(providers=providers)
)
pulumi.export("advertised", fleet.advertised)
pulumi.export("expectedUsdPerHour", fleet.expected_usd_per_hour)
pulumi.export("maximumUsdPerHour", fleet.maximum_usd_per_hour)
