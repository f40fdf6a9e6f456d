"""One GPU fleet per stack: settings, explicit providers, GpuFleet."""

from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes
import settings

from gpufleet import GpuFleet
from gpufleet.gpu_fleet import GpuFleetArgs
from gpufleet.spec.base import Platform

stack = settings.load()
# What a platform's cloud needs is in the file of its name; the sandbox needs nothing.
name = stack.fleet.get("platform")
known = name in {platform.value for platform in Platform}
has_file = known and Path(__file__).with_name(f"{name}.py").is_file()
platform: Any = import_module(str(name)) if has_file else None
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
