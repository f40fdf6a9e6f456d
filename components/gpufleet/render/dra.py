"""Claims in place of plugin resources: DeviceClasses, claim templates, shared claims, configs.

Formats: resource.k8s.io/v1; resource.nvidia.com/v1beta1 as kubernetes-sigs/dra-driver-nvidia-gpu
v0.4.1 decodes it, strictly. Whole GPUs use the class of the driver's chart, which answers
`nvidia.com/gpu`; a second class with that name would take it over, so none is made.
"""

import json
from typing import Any

from gpufleet.fleet.cut_over import claim_cuts, pool_claims
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.partition.dra import DRIVER, GPU_CLASS, DraCut, DraOffer
from gpufleet.partition.shares import MIB
from gpufleet.spec.sharing import DraSharing

API = "resource.k8s.io/v1"
CONFIG_API = "resource.nvidia.com/v1beta1"
MANAGED_BY = {"app.kubernetes.io/managed-by": "gpufleet"}
MOST_SHARED_CLAIMS = 256
"""Shared claims rendered for one kind of device of a pool at most."""

Manifest = dict[str, Any]


def device_classes(fleet: Fleet) -> list[Manifest]:
    """One DeviceClass for each MIG profile that some pool serves, by name.

    A class holds for the cluster: it carries its classic name as soon as one pool says so.
    """
    offers: dict[str, DraOffer] = {}
    for _, made in claim_cuts(fleet):
        for offer in made.offers:
            if offer.profile is not None and (
                offer.device_class not in offers or offer.extended_resource is not None
            ):
                offers[offer.device_class] = offer
    return [_device_class(offer) for _, offer in sorted(offers.items())]


def _device_class(offer: DraOffer) -> Manifest:
    spec: dict[str, Any] = {"selectors": [{"cel": {"expression": _of_profile(offer.profile)}}]}
    if offer.extended_resource is not None:
        spec["extendedResourceName"] = offer.extended_resource
    return {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": offer.device_class, "labels": dict(MANAGED_BY)},
        "spec": spec,
    }


def claims(fleet: Fleet) -> list[Manifest]:
    """ResourceClaimTemplates of every pool, and ResourceClaims where pods share one, by namespace.

    Shared claims: one for each device of the pool's smallest size, at least of one node.
    """
    found: list[Manifest] = []
    for pool, made in claim_cuts(fleet):
        for namespace in made.namespaces:
            for offer in made.offers:
                if made.clients == 1:
                    found.append(claim_template(pool, offer, namespace))
                    continue
                count = offer.per_node * max(1, pool.nodes.minimum)
                for number in range(min(count, MOST_SHARED_CLAIMS)):
                    found.append(shared_claim(pool, offer, namespace, number))
    return found


def compute_domains(fleet: Fleet) -> list[Manifest]:
    """A ComputeDomain in each namespace of the pools that declare one.

    The driver's controller makes its claim template. `numNodes` is 0, the value for drivers whose
    IMEX daemons find each other by name; the definition in the GPU Operator needs it written.
    """
    return [
        {
            "apiVersion": CONFIG_API,
            "kind": "ComputeDomain",
            "metadata": _metadata(pool, f"{pool.name}-domain", namespace),
            "spec": {
                "numNodes": 0,
                "channel": {"resourceClaimTemplate": {"name": channel_name(pool)}},
            },
        }
        for pool, made in claim_cuts(fleet)
        if made.compute_domain
        for namespace in made.namespaces
    ]


def channel_name(pool: Pool) -> str:
    """Claim template by which a pod gets a channel of the pool's ComputeDomain."""
    return f"{pool.name}-channel"


def claim_template(pool: Pool, offer: DraOffer, namespace: str) -> Manifest:
    """A template: each pod that names it gets one device of this kind to itself."""
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": _metadata(pool, claim_name(pool, offer), namespace),
        "spec": {"spec": _claim_spec(pool, offer)},
    }


def shared_claim(pool: Pool, offer: DraOffer, namespace: str, number: int) -> Manifest:
    """A claim: the pods that name it share one device, as its configuration says."""
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": _metadata(pool, f"{claim_name(pool, offer)}-{number}", namespace),
        "spec": _claim_spec(pool, offer),
    }


def claim_name(pool: Pool, offer: DraOffer) -> str:
    """`training-gpu`, `notebooks-mig-1g-10gb`: at most 60 characters."""
    if offer.profile is None:
        return f"{pool.name}-gpu"
    plain = offer.profile.replace(".", "-").replace("+", "-").replace(",", "-")
    return f"{pool.name}-mig-{plain}"


def pod_claim(pool: Pool, offer: DraOffer) -> dict[str, Any]:
    """What a pod of the claim's namespace writes: `resourceClaims` of its spec, and `claims` of
    its container's resources."""
    assert pool.partition.dra is not None
    if pool.partition.dra.clients > 1:
        reference = {"resourceClaimName": f"{claim_name(pool, offer)}-0"}
    else:
        reference = {"resourceClaimTemplateName": claim_name(pool, offer)}
    claimed = {"gpu": reference}
    if pool.partition.dra.compute_domain:
        claimed["channel"] = {"resourceClaimTemplateName": channel_name(pool)}
    return {
        "resourceClaims": [{"name": name, **one} for name, one in claimed.items()],
        "resources": {"claims": [{"name": name} for name in claimed]},
    }


def device_config(made: DraCut, offer: DraOffer) -> dict[str, Any] | None:
    """GpuConfig or MigDeviceConfig of a shared claim; None where nothing is shared.

    An empty `timeSlicingConfig` crashes the driver, so the block is there with an interval only;
    MIG devices have no such block.
    """
    if made.sharing is DraSharing.EXCLUSIVE:
        return None
    sharing: dict[str, Any]
    if made.sharing is DraSharing.MPS:
        limits: dict[str, Any] = {"defaultActiveThreadPercentage": made.threads_percent}
        memory = offer.client_memory(made)
        if memory is not None and memory >= MIB:
            limits["defaultPinnedDeviceMemoryLimit"] = f"{memory // MIB}Mi"
        sharing = {"strategy": "MPS", "mpsConfig": limits}
    else:
        sharing = {"strategy": "TimeSlicing"}
        if made.interval is not None and offer.profile is None:
            sharing["timeSlicingConfig"] = {"interval": made.interval}
    kind = "GpuConfig" if offer.profile is None else "MigDeviceConfig"
    return {"apiVersion": CONFIG_API, "kind": kind, "sharing": sharing}


def _claim_spec(pool: Pool, offer: DraOffer) -> dict[str, Any]:
    made = pool_claims(pool)
    assert made is not None
    exactly: dict[str, Any] = {
        "deviceClassName": offer.device_class,
        "selectors": [{"cel": {"expression": _of_gpu(pool)}}],
        "allocationMode": "ExactCount",
        "count": 1,
    }
    devices: dict[str, Any] = {"requests": [{"name": "gpu", "exactly": exactly}]}
    config = device_config(made, offer)
    if config is not None:
        opaque = {"driver": DRIVER, "parameters": config}
        devices["config"] = [{"requests": ["gpu"], "opaque": opaque}]
    return {"devices": devices}


def _of_profile(profile: str | None) -> str:
    assert profile is not None
    attributes = f"device.attributes['{DRIVER}']"
    return (
        f"device.driver == '{DRIVER}' && {attributes}.type == 'mig' && "
        f"{attributes}.profile == '{profile}'"
    )


def _of_gpu(pool: Pool) -> str:
    """Boards of the pool's GPU model: another pool of the cluster may serve another one."""
    names = json.dumps(list(pool.gpu.product_names))
    return f"device.attributes['{DRIVER}'].productName in {names}"


def _metadata(pool: Pool, name: str, namespace: str) -> dict[str, Any]:
    labels = {**MANAGED_BY, "gpufleet.dev/pool": pool.name}
    return {"name": name, "namespace": namespace, "labels": labels}


__all__ = [
    "GPU_CLASS",
    "channel_name",
    "claim_name",
    "claim_template",
    "claims",
    "compute_domains",
    "device_classes",
    "device_config",
    "pod_claim",
    "shared_claim",
]
