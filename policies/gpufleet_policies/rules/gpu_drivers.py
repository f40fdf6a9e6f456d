"""Drivers, kernel modules, CUDA and releases of the GPU Operator that do not support a GPU."""

import re
from collections.abc import Callable, Iterator

from gpufleet.catalogue import Catalogue, Gpu, UnknownKeyError
from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.nvidia import OperatorChoices
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.contract.driver_ranges import (
    RangeProblem,
    cuda_problem,
    driver_problem,
    module_problem,
    operator_problem,
)
from gpufleet.findings import Finding, Level, finding
from gpufleet.rules.context import RuleContext
from gpufleet.rules.rule import Needs, rule
from gpufleet_policies.rules.placed import accepts
from gpufleet_policies.rules.pools import all_pools

_MATRIX = (
    "NVIDIA data center drivers, matrix of CUDA toolkit, driver and architecture; "
    "`gpufleet catalogue drivers`"
)
_WITHOUT_DRIVER = {
    Maker.OPENSHIFT: Level.MANDATORY,
    Maker.VSPHERE: Level.ADVISORY,
    Maker.CLUSTER_API: Level.ADVISORY,
}
"""Makers whose nodes get the operator's driver: Red Hat's image has none, a template of one's own
may have one. Nodes of other makers bring theirs, unless their image is a custom one."""
_CUSTOM = "CUSTOM"
_DEPLOY = "nvidia.com/gpu.deploy.driver"

_TAG = re.compile(r"cuda-?([0-9]{2})\.([0-9])")
"""In a tag: `2.9.0-cuda13.0-cudnn9-runtime`."""
_OWN_TAG = re.compile(r"([0-9]{2})\.([0-9])")
"""Begin of a tag of NVIDIA's CUDA images: `13.0.1-base-ubuntu24.04`."""


def _operator_pools(
    context: RuleContext, choices: OperatorChoices
) -> Iterator[tuple[NodePool, Gpu, Level]]:
    """Pools that get the operator's driver, their GPU, and how certain that is.

    Pools of a fleet are validated when it is compiled.
    """
    if choices.installs != "gpu-operator":
        return
    if not choices.driver_enabled.is_known or not choices.driver_enabled.value:
        return
    for pool, gpu in _pools(context):
        level = _WITHOUT_DRIVER.get(pool.maker)
        if pool.maker is Maker.EKS and pool.image.found == _CUSTOM:
            level = Level.ADVISORY
        if level is not None and pool.labels.get(_DEPLOY) != "false":
            yield pool, gpu, level


def _pools(context: RuleContext, *, compiled: bool = False) -> Iterator[tuple[NodePool, Gpu]]:
    for pool in all_pools(context):
        if pool.in_fleet or (pool.compiled is not None and not compiled):
            continue
        if not pool.is_certainly_gpu or not pool.gpu.is_known:
            continue
        try:
            yield pool, context.catalogue.gpu(pool.gpu.value)
        except UnknownKeyError:
            continue


def _violations(
    context: RuleContext,
    choices: OperatorChoices,
    where: str,
    found: str,
    problem_of: Callable[[Gpu, str, Catalogue], RangeProblem | None],
    *,
    certain: bool = True,
) -> Iterator[Finding]:
    for pool, gpu, level in _operator_pools(context, choices):
        problem = problem_of(gpu, found, context.catalogue)
        if problem is not None:
            yield finding(
                where=f"{choices.place}.{where}".strip("."),
                found=f"{problem.message}, which {pool.name} has",
                limit=f"{problem.reason.fact} ({problem.reason.source})",
                alternative=problem.fix,
                evidence={"gpu": gpu.key, "found": problem.found, "limit": problem.limit},
                at_most=level if certain else Level.ADVISORY,
            )


@rule(
    "driver-not-for-gpu",
    "A driver of the GPU Operator that does not support the GPU of a pool.",
    subject=OperatorChoices,
    dev=Level.MANDATORY,
    needs=[Needs.SURROUNDINGS],
    source=_MATRIX,
)
def driver_for_gpu(context: RuleContext, choices: OperatorChoices) -> Iterator[Finding]:
    """The version that the values name, else the default one of the chart's release.

    Advisory where the image of the nodes may bring a driver of its own.
    """
    driver = choices.driver_version.found
    if driver is None and choices.driver_version.is_absent and choices.version.is_known:
        driver = context.catalogue.operator_driver(choices.version.value)
    if driver is not None:
        yield from _violations(context, choices, "driver.version", driver, driver_problem)


@rule(
    "kernel-module-not-for-gpu",
    "Kernel modules, open or proprietary, that do not support the GPU of a pool.",
    subject=OperatorChoices,
    dev=Level.MANDATORY,
    needs=[Needs.SURROUNDINGS],
    source="NVIDIA driver installation guide, Kernel Modules: open ones from Turing on, and only "
    "these from Blackwell on; NVIDIA GPU Operator platform support: GH200",
)
def modules_for_gpu(context: RuleContext, choices: OperatorChoices) -> Iterator[Finding]:
    """`auto`, the default, chooses by GPU."""
    if choices.kernel_modules.is_known:
        found = choices.kernel_modules.value
        yield from _violations(context, choices, "driver.kernelModuleType", found, module_problem)


@rule(
    "gpu-operator-too-old-for-gpu",
    "A release of the GPU Operator from before the GPU of a pool.",
    subject=OperatorChoices,
    dev=Level.ADVISORY,
    needs=[Needs.SURROUNDINGS],
    source="NVIDIA GPU Operator release notes",
)
def operator_for_gpu(context: RuleContext, choices: OperatorChoices) -> Iterator[Finding]:
    """The release notes name the GPU in a later release."""
    if choices.version.is_known:
        found = choices.version.value
        yield from _violations(context, choices, "version", found, operator_problem, certain=False)


@rule(
    "cuda-not-for-gpu",
    "An image with a CUDA toolkit that has no code for any GPU its pods may run on.",
    dev=Level.ADVISORY,
    strict=Level.MANDATORY,
    needs=[Needs.SURROUNDINGS],
    source=_MATRIX,
)
def cuda_for_gpu(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """The tag names the toolkit: `nvidia/cuda:13.0.1-...`, `pytorch:2.9.0-cuda13.0-...`.

    Only where no GPU pool that may take the pods has a GPU it supports.
    """
    for group in workload.pod_groups:
        if not group.gpu_resources:
            continue
        pools = list(_taking(context, group))
        for container in group.containers:
            cuda = _cuda_of(container.image.found) if container.gpu_resources else None
            if cuda is None or not pools:
                continue
            problems = [cuda_problem(gpu, cuda, context.catalogue) for _, gpu in pools]
            first = problems[0]
            if first is None or None in problems:
                continue
            names = ", ".join(pool.name for pool, _ in pools)
            yield finding(
                where=f"container {container.name} ({container.place}.image)",
                found=f"{container.image.value}: {first.message}",
                limit=f"its pods run on {names}; {first.reason.source}",
                alternative=first.fix,
                evidence={"cuda": cuda, "gpus": sorted({gpu.key for _, gpu in pools})},
            )


def _taking(context: RuleContext, group: PodGroup) -> Iterator[tuple[NodePool, Gpu]]:
    """GPU pools that may take pods of a group."""
    for pool, gpu in _pools(context, compiled=True):
        if accepts(context, pool, group) is not False:
            yield pool, gpu


def _cuda_of(image: str | None) -> str | None:
    """The toolkit that an image's tag names; None where it names none."""
    name, _, tag = (image or "").partition("@")[0].rpartition(":")
    if not name or "/" in tag:
        return None
    found = _OWN_TAG.match(tag) if name.endswith("nvidia/cuda") else _TAG.search(tag)
    return None if found is None else f"{found[1]}.{found[2]}"
