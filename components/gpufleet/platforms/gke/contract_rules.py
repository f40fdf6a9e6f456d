"""Where GKE itself taints nodes or advertises their GPUs: what that means for the operators."""

from collections.abc import Iterable, Sequence

from gpufleet.contract.contract_fact import ContractFact, chain
from gpufleet.contract.operator_values import VALUES
from gpufleet.contract.tolerations import GPU_KEY
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)


def validate_taints(pools: Sequence[Pool]) -> Iterable[Finding]:
    """GKE taints GPU nodes only when a pool without GPUs was there before."""
    for pool in pools:
        existing = pool.ownership is Ownership.EXISTING
        declared = any(taint.key == GPU_KEY for taint in pool.taints)
        if pool.gpu.vendor == "nvidia" and (existing or not declared):
            yield _taint_depends_on_order(pool, existing=existing)


def _taint_depends_on_order(pool: Pool, *, existing: bool) -> Finding:
    facts = chain(
        ContractFact(
            f"{pool.name} was made by someone else"
            if existing
            else "the pool does not declare the GPU taint",
            f"{pool.path}.{'ownership' if existing else 'gpuTaint'}",
        ),
        ContractFact(
            "GKE adds nvidia.com/gpu=present:NoSchedule only if a pool without GPUs exists when "
            "the GPU pool is made, and never afterwards",
            "Google Kubernetes Engine documentation, GPUs in Standard node pools",
        ),
        ContractFact(
            "with the default pool removed in the same run, it depends on which call comes first",
            "terraform-google-modules/terraform-google-kubernetes-engine#703",
        ),
    )
    if existing:
        return _finding("gke-taint-depends-on-order/lacks", pool.path, pool=pool.name, facts=facts)
    return _finding("gke-taint-depends-on-order", pool.path, pool=pool.name, facts=facts)


def validate_plugins(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """GKE's plugin also finishes GKE's driver: the label that stops one stops the other."""
    if value_at(spec.addons.gpu_operator.values, "devicePlugin.enabled") is not True:
        return
    for pool in pools:
        if not pool.served_by_platform:
            continue
        yield _finding(
            "two-advertisers",
            VALUES,
            pool=pool.name,
            pools=[pool.name],
            facts=chain(
                ContractFact(f"GKE's plugin serves {pool.name}", f"{pool.path}.gke.driver"),
                ContractFact("the operator's plugin is on", f"{VALUES}.devicePlugin.enabled"),
                ContractFact(
                    "their device ids differ, and one plugin is asked for the other's",
                    "NVIDIA/aicr#1998",
                ),
            ),
        )
