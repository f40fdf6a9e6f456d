"""Whether chart, Kubernetes, driver and GPU were made for each other."""

import re
from collections.abc import Iterable

from gpufleet.catalogue.model import Chart
from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool, chain
from gpufleet.contract.rdma import network_operator_present
from gpufleet.findings import Finding, error, warning


def validate_versions(cluster: ClusterFacts) -> list[Finding]:
    """Findings about versions that do not fit."""
    findings: list[Finding] = []
    if cluster.operated and cluster.spec.addons.gpu_operator.enabled is not False:
        findings += _kubernetes(cluster, cluster.operator_chart)
    if network_operator_present(cluster.spec):
        findings += _kubernetes(cluster, cluster.network_chart)
    for pool in cluster.pools:
        findings += _driver(pool, cluster)
    return findings


def _branch(version: str | None) -> int | None:
    """The branch of a driver version, `R580` or `580.95.05`; None where there is no number."""
    digits = re.search(r"[0-9]{3,}", version or "")
    return int(digits.group()) if digits else None


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _kubernetes(cluster: ClusterFacts, chart: Chart) -> Iterable[Finding]:
    found = cluster.spec.cluster.kubernetes_version
    runs = ContractFact(f"the cluster is Kubernetes {found}", "cluster.kubernetesVersion")
    if chart.min_kubernetes and _minor(found) < _minor(chart.min_kubernetes):
        yield error(
            "kubernetes-too-old-for-chart",
            "cluster.kubernetesVersion",
            f"chart {chart.name} {chart.version} refuses Kubernetes below {chart.min_kubernetes}, "
            f"and the cluster is {found}",
            f'write kubernetesVersion: "{chart.min_kubernetes}" or later',
            found=found,
            limit=chart.min_kubernetes,
            facts=chain(
                runs, ContractFact("kubeVersion of the chart", f"catalogue chart {chart.name}")
            ),
        )
    elif chart.documented_kubernetes is not None:
        first, last = chart.documented_kubernetes
        if not _minor(first) <= _minor(found) <= _minor(last):
            yield warning(
                "kubernetes-not-documented-for-chart",
                "cluster.kubernetesVersion",
                f"{chart.name} {chart.version} is documented for Kubernetes {first} to {last}, and "
                f"the cluster is {found}",
                "expect to be the first who runs it",
                found=found,
                allowed=[first, last],
                facts=chain(
                    runs, ContractFact("platform support", f"catalogue chart {chart.name}")
                ),
            )


def _driver(pool: ContractPool, cluster: ClusterFacts) -> Iterable[Finding]:
    """A driver that is older than the GPU's MIG."""
    oldest = pool.gpu.mig.min_driver if pool.gpu.mig is not None else None
    if oldest is None or not pool.partition.mig_enabled:
        return
    declared = cluster.spec.addons.gpu_operator.driver.version
    branch, where = (
        (pool.image.driver_branch, f"catalogue image {pool.image.key}")
        if pool.image is not None and pool.image.driver
        else (declared, "addons.gpuOperator.driver.version")
    )
    found, limit = _branch(branch), _branch(oldest)
    if found is None or limit is None or found >= limit:
        return
    yield error(
        "driver-too-old-for-mig",
        f"{pool.path}.sharing.mig",
        f"MIG on {pool.gpu.key} needs driver {oldest}, and nodes of {pool.name} have {branch}",
        "choose a newer driver or image, or share the GPUs without MIG",
        found=branch,
        limit=oldest,
        facts=chain(
            ContractFact(f"{pool.name} has driver {branch}", where),
            ContractFact(f"MIG from driver {oldest} on", f"catalogue GPU {pool.gpu.key}"),
        ),
    )
