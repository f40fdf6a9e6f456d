"""Whether chart and Kubernetes were made for each other."""

from collections.abc import Iterable, Iterator

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.model import Chart
from gpufleet.contract.declared_site import declared_site
from gpufleet.contract.facts import ClusterFacts, ContractFact, chain
from gpufleet.contract.rdma import network_operator_present
from gpufleet.findings import Finding, error, warning
from gpufleet.spec.cluster import minor_of


def validate_versions(cluster: ClusterFacts) -> Iterator[Finding]:
    """Findings about versions that do not fit."""
    if cluster.operated and cluster.spec.addons.gpu_operator.enabled is not False:
        yield from _kubernetes(cluster, cluster.operator_chart)
    if network_operator_present(cluster.spec, cluster.platform):
        yield from _kubernetes(cluster, cluster.network_chart)


def _kubernetes(cluster: ClusterFacts, chart: Chart) -> Iterable[Finding]:
    decided = declared_site(cluster.spec, cluster.catalogue).release_of(chart.name)
    if decided.numbers != numbers(chart.version):
        return  # the catalogue has the documented range of one release
    found = cluster.spec.cluster.kubernetes_version
    runs = ContractFact(f"the cluster is Kubernetes {found}", "cluster.kubernetesVersion")
    if chart.min_kubernetes and minor_of(found) < minor_of(chart.min_kubernetes):
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
        if not minor_of(first) <= minor_of(found) <= minor_of(last):
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
