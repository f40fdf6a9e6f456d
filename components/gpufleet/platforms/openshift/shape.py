"""A pool for OpenShift's machine API and its autoscaler: names, roles, labels, capacity.

Facts, read 2026-11-22: openshift/machine-api-operator and openshift/kubernetes-autoscaler
`cluster-autoscaler/cloudprovider/clusterapi` (annotations of empty groups, accelerator label),
openshift/cluster-autoscaler-operator (it only adds missing annotations).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufleet.fleet.model import Pool
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.openshift.machine_clouds import CLOUDS, options_of
from gpufleet.spec.platforms.openshift import MachineHealth

OBJECTS = Path(__file__).with_name("objects")
MACHINE_NAMESPACE = "openshift-machine-api"
MACHINE = "spec.template.spec.providerSpec.value"
"""Path of the machine in a MachineSet."""
ACCELERATOR_LABEL = "cluster-api/accelerator"
"""Makes the autoscaler count a node's whole GPUs, and treat a node without any as one whose driver
is not ready yet. So only nodes that will offer `nvidia.com/gpu` have it: a node whose GPUs are all
partitioned under the MIG strategy `mixed` would never count as ready."""
ROLE_PREFIX = "node-role.kubernetes.io/"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
"""Prefix of annotations that describe a node of an empty group."""
GPU_ANNOTATION = "machine.openshift.io/GPU"
"""Older annotation: whole GPUs of each machine."""

MAX_NAME = 57
"""Longest name of a MachineSet: its machines, whose names are host names of at most 63 characters,
add a hyphen and five more (openshift/machine-api-operator `pkg/controller/machineset`)."""
_DIGEST = 6


@dataclass(frozen=True, slots=True)
class OpenShiftShape:
    """Values for its machines that follow from a pool's declaration."""

    scaled: bool
    """Whether an autoscaler adds and removes machines."""
    node_labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    accelerator: str | None
    """Value of the accelerator label; None if nodes offer no whole GPU."""
    resource: str | None
    """The extended resource that an empty group can promise; None for a pool of claims."""
    per_node: int
    """Units of it on each node."""
    max_unhealthy: int | str
    """Limit of unhealthy machines, or their share as `20%`, above which none is replaced."""


def openshift_shape(pool: Pool) -> OpenShiftShape:
    """The shape of a pool whose machines can be created."""
    options = options_of(pool)
    whole = RESOURCES[pool.gpu.vendor]
    # The kind of GPU in limits of the autoscaler.
    kind = f"nvidia-{pool.gpu.key.lower()}"
    accelerator = kind if pool.advertised.get(whole, 0) > 0 else None
    offered = {name: count for name, count in sorted(pool.advertised.items()) if count > 0}
    # With several resources, the most plentiful: the rules refuse scaling such pools from zero.
    resource = max(offered, key=lambda name: offered[name], default=None)
    labels = dict(pool.labels)
    if accelerator is not None:
        labels[ACCELERATOR_LABEL] = accelerator
    if options.machine_config is not None:
        labels[f"{ROLE_PREFIX}{pool.name}"] = ""
    return OpenShiftShape(
        scaled=pool.nodes.minimum < pool.nodes.maximum,
        node_labels=dict(sorted(labels.items())),
        taints=tuple(
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in pool.taints
        ),
        accelerator=accelerator,
        resource=resource,
        per_node=0 if resource is None else offered[resource],
        max_unhealthy=_max_unhealthy(pool, options.health),
    )


def _max_unhealthy(pool: Pool, declared: MachineHealth) -> int | str:
    """A share is rounded down to machines (Red Hat documentation, MachineHealthCheck), as a floor
    requires; this single limit is also the number at the same time."""
    if declared.max_unhealthy is not None:
        return declared.max_unhealthy
    policy, most = pool.health, pool.nodes.maximum
    floor = None if policy is None else policy.floor
    if policy is None or floor is None or (floor.as_platform and policy.at_once is None):
        return max(1, most * 2 // 5)
    if floor.percent is not None and policy.at_once is None:
        return f"{100 - floor.percent}%"
    return policy.allowed_between(pool.nodes.minimum, most)


def capacity_annotations(pool: Pool) -> dict[str, str]:
    """Annotations that report the capacity of an empty MachineSet to the autoscaler.

    The machine API's controller writes CPU, memory and whole GPUs from the machine's shape. It
    does not write MIG slices or shares of a GPU.
    """
    shape = openshift_shape(pool)
    arch = {"kubernetes.io/arch": pool.machines[0].architecture}
    labels = ",".join(f"{key}={value}" for key, value in {**arch, **shape.node_labels}.items())
    taints = ",".join(f"{t['key']}={t['value']}:{t['effect']}" for t in shape.taints)
    return {
        **CLOUDS[pool.platform.name].capacity(pool),
        GPU_ANNOTATION: str(pool.gpus_per_node),
        f"{CAPACITY}gpu-count": str(shape.per_node),
        f"{CAPACITY}gpu-type": shape.resource or RESOURCES[pool.gpu.vendor],
        f"{CAPACITY}labels": labels,
        **({f"{CAPACITY}taints": taints} if taints else {}),
    }


def machine_set_name(prefix: str, pool: Pool, zone: str | None = None) -> str:
    """Name of the pool's MachineSet, `<prefix>-<pool>-<digest>`; `<prefix>-<pool>-<zone>-<digest>`
    in a zone.

    The digest covers all settings that a machine gets when it is created, because the machine API
    never changes existing machines.

    Raises:
        ValueError: the name is too long; the text states the excess.
    """
    name = f"{base_name(prefix, pool, zone)}-{_digest(born_with(pool))}"
    if len(name) > MAX_NAME:
        raise ValueError(
            f"{name!r} has {len(name)} characters, and a MachineSet's name at most {MAX_NAME}: "
            f"shorten namePrefix or the pool's name by {len(name) - MAX_NAME}"
        )
    return name


def base_name(prefix: str, pool: Pool, zone: str | None) -> str:
    """Name prefix of the objects of a pool, or of a pool in a zone."""
    return "-".join([prefix, pool.name, *([] if zone is None else [zone])])


def born_with(pool: Pool) -> dict[str, Any]:
    """Labels, taints and settings that a machine gets only when it is created."""
    shape = openshift_shape(pool)
    return {
        "labels": dict(shape.node_labels),
        "taints": [dict(taint) for taint in shape.taints],
        "machine": CLOUDS[pool.platform.name].machine(pool),
    }


def _digest(document: object) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
