"""OpenShiftGpuMachineSet: the machines of one pool, made by OpenShift's machine API on vSphere."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import AddonsArgs, GpuPoolArgs
from gpufleet.components_base.configurations import checked_labels
from gpufleet.components_base.inputs import compiled_already, declared, refuse
from gpufleet.components_base.known_output import known_output
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.findings import has_errors
from gpufleet.fleet import Pool, compile_data
from gpufleet.platforms.openshift.connection import (
    OpenShiftConnectionArgs,
    judge_place,
    machine_place,
)
from gpufleet.platforms.openshift.machine_config import machine_config, machine_config_pool
from gpufleet.platforms.openshift.machine_set_manifest import (
    health_check,
    machine_autoscaler,
    machine_set,
)
from gpufleet.platforms.openshift.shape import machine_set_name, openshift_shape, options_of
from gpufleet.spec.platforms.openshift import MachineRollout

DEFAULT_PREFIX = "gpu"
DRAIN_TIMEOUT = "2h"
"""How long removing a MachineSet may take: its machines are drained first."""
REPLICAS = "spec.replicas"


class OpenShiftGpuMachineSetArgs(TypedDict):
    """Inputs of `OpenShiftGpuMachineSet`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    connection: OpenShiftConnectionArgs
    """The cluster's place on its vCenter."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.35"` for OpenShift 4.22. Default: 1.36."""
    name_prefix: NotRequired[str]
    """First part of the objects' names. Default `gpu`."""
    addons: NotRequired[AddonsArgs]
    """Add-ons as the cluster has them: only judged. A vGPU pool must say which guest driver its
    nodes get. Default: those a fleet has."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    choose anything else are refused. Default: not compared, the add-ons are of this program."""


class OpenShiftGpuMachineSet(pulumi.ComponentResource):
    """GPU machines of an OpenShift cluster on vSphere: MachineSet, MachineHealthCheck,
    MachineAutoscaler, and a MachineConfigPool with kernel arguments where one is declared.

    The machine API changes nothing on machines that exist, so the MachineSet's name carries a
    digest of what machines are born with: another way of sharing is another MachineSet, and the
    old one's machines are drained and removed. A pool with `nodes.min` below `nodes.max` is scaled
    by the cluster's autoscaler, and its size is then left to it.
    """

    machine_set: pulumi.Output[str]
    """Name of the MachineSet."""
    machine_config_pool: pulumi.Output[str | None]
    """Name of the pool's own MachineConfigPool; absent where it has none."""
    accelerator: pulumi.Output[str | None]
    """Type of GPU under which the autoscaler's limits count the nodes; absent where they offer no
    whole GPU."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its driver and device plugin run."""

    def __init__(
        self,
        name: str,
        args: OpenShiftGpuMachineSetArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Pool | None = None,
    ) -> None:
        """Make the objects.

        Args:
            name: Name of the component, unique in its stack.
            args: Declaration and connection.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.
            compiled: What the declaration means within its fleet, when the caller has compiled the
                whole fleet. Default: the pool on its own.

        Raises:
            InvalidArgumentsError: the declaration has an error; the text holds all of them.
        """
        component = f'OpenShiftGpuMachineSet "{name}"'
        given = declared(
            component,
            OpenShiftGpuMachineSetArgs,
            cast("Mapping[str, Any]", args),
            unread=compiled_already(compiled),
        )
        prefix: str = given.get("namePrefix", DEFAULT_PREFIX)
        pool = compiled or _compile(component, given, prefix)
        wrong = list(judge_place(pool, given["connection"], "connection"))
        if has_errors(wrong):
            refuse(component, wrong)
        super().__init__("gpufleet:index:OpenShiftGpuMachineSet", name, {}, opts)
        self._spec: GpuPoolArgs = args["pool"]
        below = pulumi.ResourceOptions(parent=self)
        before = [
            ManifestObject(f"{name}-{suffix}", manifest, below)
            for suffix, manifest in (
                ("config-pool", machine_config_pool(pool)),
                ("kernel-arguments", machine_config(pool)),
            )
            if manifest is not None
        ]
        made = self._machine_set(component, name, pool, prefix, given, before)
        for suffix, manifest in (
            ("health", health_check(pool, prefix)),
            ("autoscaler", machine_autoscaler(pool, prefix)),
        ):
            if manifest is not None:
                after = pulumi.ResourceOptions(parent=self, depends_on=[made])
                ManifestObject(f"{name}-{suffix}", manifest, after)
        own = options_of(pool).machine_config is not None
        called, config_pool = machine_set_name(prefix, pool), pool.name if own else None
        accelerator, advertised = openshift_shape(pool).accelerator, dict(pool.advertised)
        self.machine_set = known_output(called)
        self.machine_config_pool = known_output(config_pool)
        self.accelerator = known_output(accelerator)
        self.advertised = known_output(advertised)
        self.register_outputs(
            {
                "machineSet": called,
                "machineConfigPool": config_pool,
                "accelerator": accelerator,
                "advertised": advertised,
            }
        )

    @property
    def spec(self) -> GpuPoolArgs:
        """The pool's declaration, to hand on to other components: `GpuAddons` takes a list."""
        return self._spec

    def _machine_set(
        self,
        component: str,
        name: str,
        pool: Pool,
        prefix: str,
        given: Mapping[str, Any],
        before: list[ManifestObject],
    ) -> ManifestObject:
        manifest = machine_set(pool, prefix, machine_place(given["connection"]))
        machine = manifest["spec"]["template"]["spec"]
        known = given.get("configurations")
        labels = checked_labels(component, pool.name, machine["metadata"]["labels"], known)
        machine["metadata"] = {"labels": labels}
        # Another name is another MachineSet. The old one goes first, machines drained, unless the
        # site has GPUs to spare.
        return ManifestObject(
            f"{name}-machines",
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=before,
                delete_before_replace=options_of(pool).rollout is MachineRollout.RECREATE,
                ignore_changes=[REPLICAS] if openshift_shape(pool).scaled else [],
                custom_timeouts=pulumi.CustomTimeouts(delete=DRAIN_TIMEOUT),
            ),
        )


def _compile(component: str, given: Mapping[str, Any], prefix: str) -> Pool:
    cluster = {"name": "cluster"}
    if "kubernetesVersion" in given:
        cluster["kubernetesVersion"] = given["kubernetesVersion"]
    result = compile_data(
        {
            "catalogue": given["catalogue"],
            "platform": "openshift",
            "cluster": cluster,
            "namePrefix": prefix,
            "pools": [given["pool"]],
            "addons": given.get("addons", {}),
        }
    )
    if result.fleet is None or not result.deployable:
        refuse(component, result.findings)
    return result.fleet.pools[0]
