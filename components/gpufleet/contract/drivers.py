"""Drivers, kernel modules and releases of the GPU Operator against the GPUs of the pools."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpufleet.contract.declared_site import declared_site
from gpufleet.contract.driver_ranges import (
    OPERATOR,
    RangeProblem,
    driver_problem,
    is_older,
    module_problem,
    operator_problem,
)
from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool, chain
from gpufleet.contract.hardened import DRIVER_VERSION
from gpufleet.contract.operator_values import VALUES, operator_value, place, said, switch
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, warning

_VERSION = "addons.gpuOperator.driver.version"


def validate_drivers(cluster: ClusterFacts) -> list[Finding]:
    """Findings about drivers that do not support a GPU or its MIG."""
    return [finding for pool in cluster.pools for finding in _pool(pool, cluster)]


def driver_of(pool: ContractPool, cluster: ClusterFacts) -> tuple[str, str, ContractFact] | None:
    """The driver of a pool's nodes, the field that decides it, and who installs it.

    None where it is not known: an image that does not state its branch, another release of the
    operator, nodes or an operator of others.
    """
    if pool.image is not None and pool.image.driver:
        branch = pool.image.branch_for(pool.gpu.key)
        if branch is None:
            return None
        fact = ContractFact(f"{pool.name} has driver {branch}", f"catalogue image {pool.image.key}")
        return branch, f"{pool.path}.image", fact
    if not _operator_installs(pool, cluster):
        return None
    operator = cluster.spec.addons.gpu_operator
    written = value_at(operator.values, "driver.version")
    where = f"{VALUES}.driver.version" if written is not None else _VERSION
    declared = str(written) if written is not None else operator.driver.version
    if declared is not None:
        return declared, where, ContractFact(f"the operator installs driver {declared}", where)
    decided = declared_site(cluster.spec, cluster.catalogue).release_of("gpu-operator").release
    if not decided.is_known:
        return None
    release = decided.value
    if cluster.spec.addons.images.profile is not None:
        fact = ContractFact(f"the operator installs {DRIVER_VERSION}", "addons.images.profile")
        return DRIVER_VERSION, _VERSION, fact
    default = cluster.catalogue.operator_driver(release)
    if default is None:
        return None
    fact = ContractFact(
        f"the operator installs driver {default} by default", f"gpu-operator chart {release}"
    )
    return default, where, fact


def _operator_installs(pool: ContractPool, cluster: ClusterFacts) -> bool:
    """Whether the operator puts the driver on the nodes of a pool."""
    operator = cluster.spec.addons.gpu_operator
    if not pool.operated or operator.enabled is False or pool.existing:
        return False
    return switch(operator, "driver", "driver")[0] is not False


def _pool(pool: ContractPool, cluster: ClusterFacts) -> Iterable[Finding]:
    known = driver_of(pool, cluster)
    if known is not None:
        driver, where, fact = known
        problem = driver_problem(pool.gpu, driver, cluster.catalogue)
        if problem is not None:
            if where == f"{pool.path}.image":
                problem = replace(problem, fix=_other_image(pool, cluster) or problem.fix)
            yield _finding(problem, pool, where, fact)
        else:
            yield from _mig(pool, driver, fact)
    if not _operator_installs(pool, cluster):
        return
    operator = cluster.spec.addons.gpu_operator
    if pool.image is None or not pool.image.driver:
        modules = str(operator_value(operator, "driver.kernelModuleType"))
        problem = module_problem(pool.gpu, modules, cluster.catalogue)
        if problem is not None:
            where = place(operator, "driver.kernelModuleType")
            yield _finding(problem, pool, where, said(operator, "driver.kernelModuleType"))
    if operator.version is not None:
        where = "addons.gpuOperator.version"
        problem = operator_problem(pool.gpu, operator.version, cluster.catalogue)
        if problem is not None:
            fact = ContractFact(f"the release is {operator.version}", where)
            yield _finding(problem, pool, where, fact)


def _other_image(pool: ContractPool, cluster: ClusterFacts) -> str:
    """The platform's images whose driver supports the GPU of a pool; empty: none is known."""
    fitting: list[str] = []
    platform = pool.platform.facts.image_platform
    for image in cluster.catalogue.images.values():
        branch = image.branch_for(pool.gpu.key) if image.platform == platform else None
        if branch is None or driver_problem(pool.gpu, branch, cluster.catalogue) is not None:
            continue
        _, first = image.branches.get(pool.gpu.key, (branch, ""))
        since = f", releases from {first} on" if first else ""
        fitting.append(f"`image: {image.key}` (driver {branch}{since})")
    return f"write {' or '.join(fitting)}, or name an image of yours" if fitting else ""


def _finding(problem: RangeProblem, pool: ContractPool, where: str, fact: ContractFact) -> Finding:
    certain = problem.code != OPERATOR
    outcome = f"nodes of {pool.name} would advertise no GPU"
    return (error if certain else warning)(
        problem.code,
        where,
        f"{problem.message}; {outcome if certain else pool.name + ' has it'}",
        problem.fix,
        found=problem.found,
        limit=problem.limit,
        pool=pool.name,
        facts=chain(fact, problem.reason),
    )


def _mig(pool: ContractPool, driver: str, fact: ContractFact) -> Iterator[Finding]:
    """A driver that is older than the GPU's MIG."""
    oldest = pool.gpu.mig.min_driver if pool.gpu.mig is not None else None
    if oldest is None or not pool.partition.mig_enabled or not is_older(driver, oldest):
        return
    yield error(
        "driver-too-old-for-mig",
        f"{pool.path}.sharing.mig",
        f"MIG on {pool.gpu.key} needs driver {oldest}, and nodes of {pool.name} have {driver}",
        "choose a newer driver or image, or share the GPUs without MIG",
        found=driver,
        limit=oldest,
        facts=chain(
            fact, ContractFact(f"MIG from driver {oldest} on", f"catalogue GPU {pool.gpu.key}")
        ),
    )
