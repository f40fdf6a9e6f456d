"""Whether chart, node image and Kubernetes were made for each other."""

from collections.abc import Iterator

from gpufleet.catalogue.features import numbers
from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.machine_images import ended_image
from gpufleet.contract.relation import GPU_OPERATOR, NETWORK_OPERATOR, Broken, place_of
from gpufleet.spec.cluster import minor_of


def validate_versions(cluster: ClusterModel) -> Iterator[Broken]:
    """Charts and minor versions of Kubernetes that do not fit."""
    if cluster.operated or not cluster.complete:
        for program in cluster.programs(GPU_OPERATOR):
            yield from _kubernetes(cluster, program, GPU_OPERATOR)
    for program in cluster.programs(NETWORK_OPERATOR):
        yield from _kubernetes(cluster, program, NETWORK_OPERATOR)


def validate_images(cluster: ClusterModel) -> Iterator[Broken]:
    """Images that are not published for the minor version."""
    minor = cluster.site.kubernetes
    for pool in cluster.pools:
        problem = ended_image(pool.image.found or "", minor, cluster.catalogue)
        if problem is not None:
            yield Broken(
                code="image-not-for-kubernetes",
                at=pool,
                place=place_of(pool, "image", pool.image.place),
                message=problem,
                fix="write `image: al2023-nvidia`",
                evidence={"found": pool.image.found},
                facts=(ContractFact(problem, f"catalogue image {pool.image.found}"),),
            )


def _kubernetes(cluster: ClusterModel, program: Program, name: str) -> Iterator[Broken]:
    chart, minor = cluster.catalogue.chart(name), cluster.site.kubernetes
    if not minor.is_known or not program.release.is_known:
        return
    if numbers(program.release.value) != numbers(chart.version):
        return  # the catalogue has the documented range of one release
    found = ".".join(map(str, minor.value))
    at = program.field("") if not minor.place else minor.place
    runs = ContractFact(f"the cluster is Kubernetes {found}", at)
    if chart.min_kubernetes and minor.value < minor_of(chart.min_kubernetes):
        yield Broken(
            code="kubernetes-too-old-for-chart",
            at=program,
            place=at,
            message=f"chart {name} {chart.version} refuses Kubernetes below "
            f"{chart.min_kubernetes}, and the cluster is {found}",
            fix=f'write kubernetesVersion: "{chart.min_kubernetes}" or later',
            evidence={"found": found, "limit": chart.min_kubernetes},
            facts=(runs, ContractFact("kubeVersion of the chart", f"catalogue chart {name}")),
        )
    elif chart.documented_kubernetes is not None:
        first, last = chart.documented_kubernetes
        if not minor_of(first) <= minor.value <= minor_of(last):
            yield Broken(
                code="kubernetes-not-documented-for-chart",
                at=program,
                place=at,
                message=f"{name} {chart.version} is documented for Kubernetes {first} to {last}, "
                f"and the cluster is {found}",
                fix="expect to be the first who runs it",
                certain=False,
                evidence={"found": found, "allowed": [first, last]},
                facts=(runs, ContractFact("platform support", f"catalogue chart {name}")),
            )
