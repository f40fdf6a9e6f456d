"""Drivers, kernel modules and releases of the GPU Operator against the GPUs of the pools;
compatibility of chart, node image and Kubernetes."""

from collections.abc import Iterator
from dataclasses import replace

from gpufleet.catalogue import Gpu
from gpufleet.catalogue.features import numbers
from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.fact import Provenance
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.driver_ranges import (
    OPERATOR,
    RangeProblem,
    driver_problem,
    is_older,
    module_problem,
    operator_problem,
)
from gpufleet.contract.machine_images import ended_image
from gpufleet.contract.operator_values import said_of, value_of
from gpufleet.contract.rdma import MODULES
from gpufleet.contract.relation import GPU_OPERATOR, NETWORK_OPERATOR, Broken, place_of
from gpufleet.findings import findings_in
from gpufleet.spec.cluster import minor_of

_finding = findings_in(__file__)

VERSION = "driver.version"
Source = tuple[str, NodePool | Program, str, ContractFact]
"""A driver, the object and the field that decide it, and its installer."""


def validate_drivers(cluster: ClusterModel) -> Iterator[Broken]:
    """Drivers, modules and releases that do not support a GPU or its MIG."""
    for pool in cluster.pools:
        gpu = cluster.catalogue.gpus.get(pool.gpu.found or "")
        if gpu is not None:
            yield from _pool(pool, gpu, cluster)


def drivers_of(pool: NodePool, cluster: ClusterModel) -> Iterator[Source]:
    """The driver of a pool's nodes; empty if not known: an image without its branch, another
    release of the operator, existing nodes or an operator that is installed separately."""
    if "driver" in (pool.brings.found or ()):
        if pool.driver.is_known:
            said = f"{pool.name} has driver {pool.driver.value}"
            fact = ContractFact(said, f"catalogue image {pool.image.found}")
            yield pool.driver.value, pool, place_of(pool, "image", pool.image.place), fact
        return
    for program in _installing(pool, cluster):
        written, place = program.value(VERSION), program.field(VERSION)
        if isinstance(written, str):
            fact = ContractFact(f"the operator installs driver {written}", place)
            yield written, program, place, fact
        elif program.hides(VERSION):
            continue
        elif written is None and program.complete and program.release.is_known:
            release = program.release.value
            default = cluster.catalogue.operator_driver(release)
            if default is not None:
                said = f"the operator installs driver {default} by default"
                fact = ContractFact(said, f"gpu-operator chart {release}")
                yield default, program, place, fact


def _installing(pool: NodePool, cluster: ClusterModel) -> Iterator[Program]:
    """The operator, if it installs the driver on the nodes of a pool."""
    if pool.is_operated and not pool.existing and not pool.brings.is_absent:
        for program in cluster.programs(GPU_OPERATOR):
            if program.switch("driver.enabled", True).found is True:
                yield program


def _pool(pool: NodePool, gpu: Gpu, cluster: ClusterModel) -> Iterator[Broken]:
    for driver, at, place, fact in drivers_of(pool, cluster):
        problem = driver_problem(gpu, driver, cluster.catalogue)
        if problem is None:
            yield from _mig(pool, gpu, (driver, at, place, fact))
            continue
        if at is pool:
            problem = replace(problem, fix=_other_image(pool, gpu, cluster) or problem.fix)
        yield _range(problem, pool, at, place, fact)
    for program in _installing(pool, cluster):
        if "driver" not in (pool.brings.found or ()):
            problem = module_problem(gpu, str(value_of(program, MODULES)), cluster.catalogue)
            if problem is not None:
                place = program.field(MODULES)
                yield _range(problem, pool, program, place, said_of(program, MODULES))
        release, place = program.release, program.release.place
        if release.is_known and release.provenance is not Provenance.DEFAULT:
            problem = operator_problem(gpu, release.value, cluster.catalogue)
            if problem is not None:
                fact = ContractFact(f"the release is {release.value}", place)
                yield _range(problem, pool, program, place, fact)


def _other_image(pool: NodePool, gpu: Gpu, cluster: ClusterModel) -> str:
    """Images of the same platform whose driver supports the GPU of a pool; empty: none is known."""
    fitting: list[str] = []
    own = cluster.catalogue.images.get(pool.image.found or "")
    for image in cluster.catalogue.images.values():
        same = own is not None and image.platform == own.platform
        branch = image.branch_for(gpu.key) if same else None
        if branch is None or driver_problem(gpu, branch, cluster.catalogue) is not None:
            continue
        _, first = image.branches.get(gpu.key, (branch, ""))
        since = f", releases from {first} on" if first else ""
        fitting.append(f"`image: {image.key}` (driver {branch}{since})")
    return f"write {' or '.join(fitting)}, or name your own image" if fitting else ""


def _range(
    problem: RangeProblem, pool: NodePool, at: NodePool | Program, place: str, fact: ContractFact
) -> Broken:
    advice = problem.code == OPERATOR
    outcome = f"{pool.name} has it" if advice else f"nodes of {pool.name} would advertise no GPU"
    return Broken(
        code=problem.code,
        at=at,
        place=place,
        message=f"{problem.message}; {outcome}",
        fix=problem.fix,
        # A custom template may contain a driver.
        certain=not advice and not pool.brings.is_unknown,
        evidence={"found": problem.found, "limit": problem.limit, "pool": pool.name},
        facts=(fact, problem.reason),
    )


def _mig(pool: NodePool, gpu: Gpu, source: Source) -> Iterator[Broken]:
    """A driver that is older than the GPU's MIG."""
    driver, at, place, fact = source
    oldest = gpu.mig.min_driver if gpu.mig is not None else None
    if oldest is None or pool.shared.mig.found is not True or not is_older(driver, oldest):
        return
    yield Broken(
        code="driver-too-old-for-mig",
        at=at,
        place=place_of(pool, "sharing.mig", place),
        message=f"MIG on {gpu.key} needs driver {oldest}, and nodes of {pool.name} have {driver}",
        fix="choose a newer driver or image, or share the GPUs without MIG",
        certain=not pool.brings.is_unknown,
        evidence={"found": driver, "limit": oldest},
        facts=(fact, ContractFact(f"MIG from driver {oldest} on", f"catalogue GPU {gpu.key}")),
    )


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
        yield Broken.of(finding, program)
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
            yield Broken.of(finding, program)
