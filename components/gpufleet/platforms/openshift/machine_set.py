"""OpenShiftGpuMachineSet: the machines of one pool, created by OpenShift's machine API."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pulumi

from gpufleet.arguments.wired_components import OpenShiftGpuMachineSetArgs
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import GpuPoolComponent, Options, PoolPlan, accepted
from gpufleet.components_base.configurations import checked_labels, validate_known_labels
from gpufleet.components_base.inputs import declared, refuse
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet import Pool
from gpufleet.platforms.declarations import compiled_pool
from gpufleet.platforms.openshift.machine_cloud import MachinePlace
from gpufleet.platforms.openshift.machine_clouds import CLOUDS, options_of, zones_of
from gpufleet.platforms.openshift.machine_config import (
    kubelet_config,
    machine_config,
    machine_config_pool,
)
from gpufleet.platforms.openshift.machine_set_manifest import (
    health_check,
    machine_autoscaler,
    machine_set,
)
from gpufleet.platforms.openshift.shape import machine_set_name, openshift_shape
from gpufleet.spec.base import Platform
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift import MachineRollout

_rules = rules_in(__file__)

DEFAULT_PREFIX = "gpu"
DRAIN_TIMEOUT = "2h"
"""Timeout for removing a MachineSet: its machines are drained first."""
REPLICAS = "spec.replicas"
ANNOTATIONS = "metadata.annotations"
"""The controllers of AWS and Google write some of them again, the labels in any order, and a second
writer is a conflict. All follow from the digest in the set's name. They cannot be ignored one by
one: pulumi-kubernetes accepts no key with a dot (f47bc2d `pkg/await/await.go`)."""


PLACES = {
    "connection": Platform.OPENSHIFT,
    "aws": Platform.OPENSHIFT_AWS,
    "gcp": Platform.OPENSHIFT_GCP,
}
"""Argument with the cluster's location -> its platform."""


@dataclass(frozen=True, kw_only=True)
class MachineSetPlan(PoolPlan):
    """The machines of one pool."""

    prefix: str
    """Prefix of the objects' names."""
    place: MachinePlace
    configurations: pulumi.Input[list[str]] | None


class OpenShiftGpuMachineSet(GpuPoolComponent[MachineSetPlan]):
    """GPU machines of an OpenShift cluster: MachineSet, MachineHealthCheck, MachineAutoscaler, and
    a MachineConfigPool with kernel arguments if one is declared. On a cloud the pool has a
    MachineSet for each of its zones.

    The machine API never changes existing machines, so the MachineSet's name has a digest of the
    creation settings of machines: another way of sharing is another MachineSet, and the old one's
    machines are drained and removed. A pool with `nodes.min` below `nodes.max` is scaled by the
    cluster's autoscaler, which then owns its size.
    """

    machine_set: pulumi.Output[str]
    """Name of the MachineSet; if there are several zones, of the first."""
    machine_sets: pulumi.Output[list[str]]
    """Names of all MachineSets, one for each zone."""
    machine_config_pool: pulumi.Output[str | None]
    """Name of the pool's own MachineConfigPool; absent if it has none."""
    accelerator: pulumi.Output[str | None]
    """Type of GPU under which the autoscaler's limits count the nodes; absent if they offer no
    whole GPU."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its driver and device plugin run."""

    def __init__(self, name: str, args: OpenShiftGpuMachineSetArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: MachineSetPlan) -> Mapping[str, object]:
        pool, prefix = plan.pool, plan.prefix
        below = pulumi.ResourceOptions(parent=self)
        before = [
            ManifestObject(f"{name}-{suffix}", manifest, below)
            for suffix, manifest in (
                ("config-pool", machine_config_pool(pool)),
                ("kernel-arguments", machine_config(pool)),
                ("kubelet", kubelet_config(pool)),
            )
            if manifest is not None
        ]
        zones = zones_of(pool)
        made: list[pulumi.Resource] = []
        for zone in zones:
            apart = "" if zone is None else f"-{zone}"
            one = self._machine_set(f"{name}-machines{apart}", plan, zone, before)
            made.append(one)
            scaler = machine_autoscaler(pool, prefix, zone)
            if scaler is not None:
                after = pulumi.ResourceOptions(parent=self, depends_on=[one])
                ManifestObject(f"{name}-autoscaler{apart}", scaler, after)
        health = health_check(pool, prefix)
        if health is not None:
            after = pulumi.ResourceOptions(parent=self, depends_on=made)
            ManifestObject(f"{name}-health", health, after)
        names = [machine_set_name(prefix, pool, zone) for zone in zones]
        own = options_of(pool).machine_config is not None
        return {
            "machine_set": names[0],
            "machine_sets": names,
            "machine_config_pool": pool.name if own else None,
            "accelerator": openshift_shape(pool).accelerator,
            "advertised": dict(pool.advertised),
        }

    def _machine_set(
        self, name: str, plan: MachineSetPlan, zone: str | None, before: list[ManifestObject]
    ) -> ManifestObject:
        pool = plan.pool
        manifest = machine_set(pool, plan.prefix, plan.place, zone)
        machine = manifest["spec"]["template"]["spec"]
        labels = checked_labels(
            self.label(name), pool.name, machine["metadata"]["labels"], plan.configurations
        )
        machine["metadata"] = {"labels": labels}
        # Another name is another MachineSet. The old one is removed first, its machines drained,
        # unless the site has spare GPUs.
        return ManifestObject(
            name,
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=before,
                delete_before_replace=options_of(pool).rollout is MachineRollout.RECREATE,
                ignore_changes=[
                    *((REPLICAS,) if openshift_shape(pool).scaled else ()),
                    *((ANNOTATIONS,) if CLOUDS[pool.platform.name].zonal else ()),
                ],
                custom_timeouts=pulumi.CustomTimeouts(delete=DRAIN_TIMEOUT),
            ),
        )


def machine_set_plan(
    pool: Pool,
    spec: FleetSpec,
    connection: Mapping[str, Any],
    path: str,
    configurations: pulumi.Input[list[str]] | None = None,
) -> tuple[MachineSetPlan, list[Finding]]:
    """The plan of a pool, and errors that prevent its creation.

    Args:
        pool: The compiled pool.
        spec: The declaration of the pool.
        connection: The cluster's location, in the spelling of files.
        path: Path of the connection.
        configurations: Configurations of the cluster's add-ons. Default: not compared.
    """
    cloud, prefix = CLOUDS[pool.platform.name], spec.resource_prefix
    place = cloud.place(connection, spec)
    plan = MachineSetPlan(pool=pool, prefix=prefix, place=place, configurations=configurations)
    findings = list(cloud.validate_place(pool, connection, path))
    if isinstance(configurations, list):
        labels = openshift_shape(pool).node_labels
        findings += validate_known_labels(labels, configurations, pool.name)
    return plan, findings


def _planned(component: str, args: OpenShiftGpuMachineSetArgs) -> MachineSetPlan:
    given = declared(component, OpenShiftGpuMachineSetArgs, args)
    given.setdefault("namePrefix", DEFAULT_PREFIX)
    places = [key for key in PLACES if key in given]
    if len(places) != 1:
        shown = " and ".join(places) or "none"
        refuse(component, _rules("place", places=places, shown=shown, allowed=list(PLACES)))
    keys = ("kubernetesVersion", "namePrefix", "addons", "region")
    fleet = compiled_pool(component, PLACES[places[0]].value, given, *keys)
    plan, findings = machine_set_plan(
        fleet.pools[0], fleet.spec, given[places[0]], places[0], given.get("configurations")
    )
    return replace(plan, warnings=accepted(component, [*fleet.findings, *findings]))
