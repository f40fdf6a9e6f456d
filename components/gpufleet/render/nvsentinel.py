"""Values of NVIDIA's NVSentinel by the modes of the pools: monitor, quarantine, repair.

Keys: NVIDIA/NVSentinel `distros/kubernetes/nvsentinel`, 073b2f4 `values-full.yaml`, 2083bfa
`Chart.yaml` (which switch installs which part), 469f12c `charts/janitor-provider/values.yaml` (read
2026-11-29). The first has `janitor.csp` still: machines are the janitor provider's, whose default
only simulates.
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.health import by_nvsentinel, completes
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.spec.health import HealthMode, HealthPolicy

_file = files_in(__file__)

_WINDOW = "24h"
"""Nodes that NVSentinel cordoned within it count against its limit: longer than its longest repair,
60 minutes of draining and 25 of a restart."""


def nvsentinel_files(fleet: Fleet) -> Iterator[Artefact]:
    """The values, where a pool names NVSentinel."""
    values = nvsentinel_values(fleet)
    if values is None:
        return
    acts = values["global"]["janitor"]["enabled"]
    access = (
        ", with cert-manager, and give it access to the machines (`janitor-provider.csp`)"
        if acts
        else ""
    )
    yield from _file("values/nvsentinel.yaml", values, access=access)


def nvsentinel_values(fleet: Fleet) -> dict[str, Any] | None:
    """Values of the chart; None if no pool names NVSentinel."""
    watched = by_nvsentinel(fleet.pools)
    if not watched:
        return None
    acting = [(pool, policy) for pool, policy in watched if policy.acts]
    repairs = any(policy.mode is HealthMode.REPAIR for _, policy in acting)
    keys = sorted({taint.key for pool, _ in watched for taint in pool.taints})
    operator = fleet.addons.gpu_operator.namespace
    values: dict[str, Any] = {
        "global": {
            "tolerations": [{"key": key, "operator": "Exists"} for key in keys],
            "gpuHealthMonitor": {"enabled": True},
            "syslogHealthMonitor": {"enabled": True},
            "labeler": {"enabled": True},
            "mongodbStore": {"enabled": bool(acting)},
            "faultQuarantine": {"enabled": bool(acting)},
            "nodeDrainer": {"enabled": repairs},
            "faultRemediation": {"enabled": repairs},
            "janitor": {"enabled": repairs},
            "janitorProvider": {"enabled": repairs},
        },
        "gpu-health-monitor": {
            "dcgm": {"service": {"endpoint": f"nvidia-dcgm.{operator}.svc"}},
        },
    }
    if acting:
        values["fault-quarantine"] = {"circuitBreaker": _breaker(acting)}
    if repairs:
        mode = "AllowCompletion" if completes(p for p, _ in acting) else "DeleteAfterTimeout"
        values["node-drainer"] = {"userNamespaces": [{"name": "*", "mode": mode}]}
        values["janitor-provider"] = {"csp": {"provider": fleet.platform.facts.janitor}}
    return values


def _breaker(acting: list[tuple[Pool, HealthPolicy]]) -> dict[str, Any]:
    """The circuit breaker counts GPU nodes of the whole cluster: the strictest pool decides."""
    limits = [
        policy.allowed_between(pool.nodes.minimum, pool.nodes.maximum)
        for pool, policy in acting
        if policy.at_once is not None or (policy.floor is not None and not policy.floor.as_platform)
    ]
    if not limits:
        return {"enabled": True}
    return {"enabled": True, "percentage": 0, "maxNodes": min(limits), "duration": _WINDOW}
