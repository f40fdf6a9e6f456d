"""Jobs that wait for all their nodes: admission checks that call the autoscaler first.

Kueue's controller `kueue.x-k8s.io/provisioning-request` makes a ProvisioningRequest for a job that
got quota, and admits it when the nodes are there. GKE's queued provisioning and Cluster Autoscaler
answer them; Karpenter does not (kubernetes-sigs/karpenter v1.14.1 has no such code).
"""

from typing import Any

from gpufleet.fleet.kueue_quota import pool_units, quota_pools
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.render.kueue_flavors import API_VERSION
from gpufleet.spec.capacity import minutes

CONTROLLER = "kueue.x-k8s.io/provisioning-request"
ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
"""Class of Cluster Autoscaler since 1.30.2: all nodes or none."""


def checked_pools(fleet: Fleet) -> tuple[Pool, ...]:
    """Pools whose jobs wait for their nodes before they are admitted."""
    queues = fleet.spec.queues
    if queues is None:
        return ()
    return tuple(
        pool
        for pool in quota_pools(fleet)
        if pool.name in queues.atomic_scale_up or _run_minutes(pool) is not None
    )


def check_name(pool: Pool) -> str:
    """Name of a pool's AdmissionCheck and of its parameters."""
    return f"{pool.name}-nodes"


def admission_checks(fleet: Fleet) -> list[dict[str, Any]]:
    """An AdmissionCheck for each such pool, and after them their parameters."""
    checked = checked_pools(fleet)
    return [
        *(_check(pool) for pool in checked),
        *(_config(pool, fleet) for pool in checked),
    ]


def check_strategy(fleet: Fleet) -> dict[str, Any] | None:
    """Admission checks of a ClusterQueue, each only for its own flavor. None: no checks."""
    checked = checked_pools(fleet)
    if not checked:
        return None
    return {
        "admissionChecks": [
            {"name": check_name(pool), "onFlavors": [pool.name]} for pool in checked
        ]
    }


def _run_minutes(pool: Pool) -> int | None:
    for way in pool.capacity:
        if way.queued is not None:
            return minutes(way.queued.max_run_duration)
    return None


def _check(pool: Pool) -> dict[str, Any]:
    name = check_name(pool)
    by = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": name}
    spec = {"controllerName": CONTROLLER, "parameters": by}
    return manifest(API_VERSION, "AdmissionCheck", name, spec=spec)


def _config(pool: Pool, fleet: Fleet) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "provisioningClassName": ATOMIC,
        "managedResources": list(pool_units(pool, fleet)),
    }
    longest = _run_minutes(pool)
    if longest is not None:
        spec |= platform_rules(pool.platform).queued_provisioning(longest)
    return manifest(API_VERSION, "ProvisioningRequestConfig", check_name(pool), spec=spec)
