"""Compatibility of chart, node image and Kubernetes."""

from collections.abc import Iterator

from gpufleet.catalogue.features import numbers
from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.machine_images import ended_image
from gpufleet.contract.relation import GPU_OPERATOR, NETWORK_OPERATOR, Broken, place_of
from gpufleet.findings import findings_in
from gpufleet.spec.cluster import minor_of

_finding = findings_in(__file__)


def validate_versions(cluster: ClusterModel) -> Iterator[Broken]:
    """Charts and minor versions of Kubernetes that are not compatible."""
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
            place = place_of(pool, "image", pool.image.place)
            image = pool.image.found
            finding = _finding("image-not-for-kubernetes", place, problem=problem, found=image)
            yield Broken.of(finding, pool)


def _kubernetes(cluster: ClusterModel, program: Program, name: str) -> Iterator[Broken]:
    chart, minor = cluster.catalogue.chart(name), cluster.site.kubernetes
    if not minor.is_known or not program.release.is_known:
        return
    if numbers(program.release.value) != numbers(chart.version):
        return  # the catalogue has the documented range of one release
    found = ".".join(map(str, minor.value))
    at = program.field("") if not minor.place else minor.place
    runs = ContractFact(f"the cluster is Kubernetes {found}", at)
    release, oldest = chart.version, chart.min_kubernetes
    if oldest and minor.value < minor_of(oldest):
        finding = _finding(
            "kubernetes-too-old-for-chart",
            at,
            name=name,
            release=release,
            found=found,
            limit=oldest,
        )
        yield Broken.of(finding, program, runs)
    elif chart.documented_kubernetes is not None:
        first, last = chart.documented_kubernetes
        if not minor_of(first) <= minor.value <= minor_of(last):
            finding = _finding(
                "kubernetes-not-documented-for-chart",
                at,
                name=name,
                release=release,
                found=found,
                first=first,
                last=last,
                allowed=[first, last],
            )
            yield Broken.of(finding, program, runs)
