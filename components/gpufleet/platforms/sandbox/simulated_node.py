"""Node objects of a simulated pool, in the form in which a kubelet and a cloud register them.

gpufleet does not write their status: the operand simulators publish capacity like a kubelet.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.fleet.layout_waves import labels_of, partition_of
from gpufleet.fleet.model import Machine, Pool
from gpufleet.fleet.neuron import is_neuron
from gpufleet.spec.pool import Fabric

SIMULATED_LABEL = "gpufleet.dev/simulated"
HARDWARE_ANNOTATION = "sandbox.gpufleet.dev/hardware"
PRICE_ANNOTATION = "gpufleet.dev/usd-per-hour"
FORCE_ANNOTATION = "pulumi.com/patchForce"
"""The applied labels replace values that an operand wrote: the GPU Operator sets
`nvidia.com/mig.config=all-disabled` on nodes without a layout, and a pool may get one later. Keys
that are not applied stay with their owner."""

WAIT_ANNOTATION = "pulumi.com/waitFor"
TIMEOUT_ANNOTATION = "pulumi.com/timeoutSeconds"
"""Annotations of Pulumi's Kubernetes provider: condition and timeout of an object's update."""

MAX_NAME = 63
"""Longest node name: it is also the value of `kubernetes.io/hostname`."""
_MIB = 1 << 20


class HardwareUnknownError(ValueError):
    """The catalogue lacks a required figure of a node; the message names it."""


@dataclass(frozen=True, slots=True)
class SimulatedNodeManifest:
    """Name and contents of one Node object."""

    name: str
    metadata: dict[str, Any]
    """Without the name; in Kubernetes' form."""
    spec: dict[str, Any]


def node_name(prefix: str, pool: str, ordinal: int) -> str:
    """`<prefix>-<pool>-<ordinal>`: stable, valid, at most `MAX_NAME` characters.

    A prefix that is too long is shortened and gets a digest, to keep long prefixes distinct.
    """
    tail = f"-{pool}-{ordinal}"
    start = prefix.lower().replace("_", "-")
    if len(start) + len(tail) > MAX_NAME:
        digest = hashlib.sha256(prefix.encode()).hexdigest()[:6]
        start = f"{start[: MAX_NAME - len(tail) - 7].rstrip('-')}-{digest}"
    return start + tail


def hardware(pool: Pool, machine: Machine, catalogue: Catalogue) -> dict[str, Any]:
    """Hardware of the machine, or of a guest. Raises HardwareUnknownError."""
    if is_neuron(pool.gpu):
        return _with_neuron(pool, machine)
    memory = (
        pool.gpu.memory_bytes
        if machine.instance is None
        else catalogue.device_memory(machine.instance)
    )
    products = pool.gpu.product_names
    guest = pool.partition.vgpu
    if guest is not None:
        products, memory = (f"NVIDIA {guest.type.printed}{guest.type.name}",), guest.memory_bytes
    figures = {
        "GPU memory": memory,
        "vCPU": machine.vcpu,
        "memory": machine.memory_bytes,
        "product name": products,
    }
    missing = [name for name, figure in figures.items() if not figure]
    if missing or memory is None or machine.memory_bytes is None:
        raise HardwareUnknownError(
            f"the catalogue has no {' and no '.join(missing)} of {machine.name} ({pool.gpu.key})"
        )
    described: dict[str, Any] = {
        "gpus": [
            {
                "product": products[0],
                "memoryMiB": memory // _MIB,
                "count": machine.gpus,
            }
        ],
        "cpu": str(machine.vcpu),
        "memory": f"{machine.memory_bytes // _MIB}Mi",
    }
    if pool.fabric is Fabric.RDMA:
        described["nics"] = machine.gpus  # one NIC for each GPU, as in such machines
    if pool.image is not None and pool.image.driver:
        described["driver"] = catalogue.chart("gpu-operator").components["driver"]
        described["toolkit"] = pool.image.toolkit
    return described


def _with_neuron(pool: Pool, machine: Machine) -> dict[str, Any]:
    if machine.memory_bytes is None or machine.vcpu is None:
        raise HardwareUnknownError(f"the catalogue has no memory or vCPU of {machine.name}")
    return {
        "neuron": {"chip": pool.gpu.key, "count": machine.gpus},
        "cpu": str(machine.vcpu),
        "memory": f"{machine.memory_bytes // _MIB}Mi",
    }


def simulated_nodes(
    pool: Pool, catalogue: Catalogue, *, prefix: str, region: str
) -> tuple[SimulatedNodeManifest, ...]:
    """The pool's nodes, exactly `nodes.min` of them: a simulated pool is not scaled.

    Zones are the pool's, or the region's first, assigned in turn. Raises HardwareUnknownError.
    """
    machine = pool.machines[0]
    described = json.dumps(hardware(pool, machine, catalogue), sort_keys=True)
    annotations = {HARDWARE_ANNOTATION: described, FORCE_ANNOTATION: "true"}
    if pool.hourly_usd is not None:
        annotations[PRICE_ANNOTATION] = format(pool.hourly_usd.normalize(), "f")
    zones = pool.spec.zones or (f"{region}-a",)
    return tuple(
        _node(
            pool,
            machine,
            i,
            node_name(prefix, pool.name, i),
            {**annotations, **_awaited(pool, i)},
            region,
            zones[i % len(zones)],
        )
        for i in range(pool.nodes.minimum)
    )


def _awaited(pool: Pool, ordinal: int) -> dict[str, str]:
    """During a change in waves: the node counts as updated when it offers the new resources, so
    that the next wave starts then."""
    change = pool.spec.change
    if change is None or pool.previous is None:
        return {}
    partition = partition_of(pool, ordinal)
    promised = partition.advertised
    if partition.dra is not None or not promised:
        return {}  # claims are not in the node's status, for any class
    paths = [
        f"jsonpath={{.status.allocatable['{name}']}}={count}" for name, count in promised.items()
    ]
    return {
        WAIT_ANNOTATION: json.dumps(paths),
        TIMEOUT_ANNOTATION: str(change.timeout_seconds),
    }


def _node(
    pool: Pool,
    machine: Machine,
    ordinal: int,
    name: str,
    annotations: dict[str, str],
    region: str,
    zone: str,
) -> SimulatedNodeManifest:
    labels = {
        **labels_of(pool, ordinal),
        SIMULATED_LABEL: "true",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine.architecture,
        "node.kubernetes.io/instance-type": machine.name.replace(":", "."),
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    taints = [{"key": t.key, "value": t.value, "effect": t.effect} for t in pool.taints]
    return SimulatedNodeManifest(
        name,
        {"labels": dict(sorted(labels.items())), "annotations": dict(annotations)},
        {"taints": taints, "providerID": f"gpufleet-sandbox://{name}"},
    )
