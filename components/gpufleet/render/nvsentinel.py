"""Values of NVIDIA's NVSentinel by the modes of the pools: monitor, quarantine, repair
(`objects/nvsentinel.yaml`)."""

from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.health import by_nvsentinel, completes
from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.data_files import data_part
from gpufleet.spec.health import HealthMode

_file = files_in(__file__)


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
    """Values of the chart; None if no pool names NVSentinel. Its circuit breaker counts GPU nodes
    of the whole cluster: the strictest pool decides."""
    watched = by_nvsentinel(fleet.pools)
    if not watched:
        return None
    acting = [(pool, policy) for pool, policy in watched if policy.acts]
    keys = sorted({taint.key for pool, _ in watched for taint in pool.taints})
    limits = [
        policy.allowed_between(pool.nodes.minimum, pool.nodes.maximum)
        for pool, policy in acting
        if policy.at_once is not None or (policy.floor is not None and not policy.floor.as_platform)
    ]
    return data_part(
        "nvsentinel",
        "values",
        tolerations=[{"key": key, "operator": "Exists"} for key in keys],
        acts=bool(acting),
        repairs=any(policy.mode is HealthMode.REPAIR for _, policy in acting),
        operator=fleet.addons.gpu_operator.namespace,
        percentage=0 if limits else None,
        limit=min(limits, default=None),
        window="24h" if limits else None,
        mode="AllowCompletion" if completes(p for p, _ in acting) else "DeleteAfterTimeout",
        provider=fleet.platform.facts.janitor,
    )
