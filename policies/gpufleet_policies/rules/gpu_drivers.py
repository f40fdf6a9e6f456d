"""CUDA toolkits that have no code for a GPU."""

import re
from collections.abc import Iterator

from gpufleet.catalogue import Gpu, UnknownKeyError
from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.pool import NodePool
from gpufleet.contract.driver_ranges import cuda_problem
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.placement import accepts
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.written import written_rule

_TAG = re.compile(r"cuda-?([0-9]{2})\.([0-9])")
"""In a tag: `2.9.0-cuda13.0-cudnn9-runtime`."""
_OWN_TAG = re.compile(r"([0-9]{2})\.([0-9])")
"""Begin of a tag of NVIDIA's CUDA images: `13.0.1-base-ubuntu24.04`."""


def _pools(context: RuleContext) -> Iterator[tuple[NodePool, Gpu]]:
    for pool in all_pools(context):
        if not pool.is_certainly_gpu or not pool.gpu.is_known:
            continue
        try:
            yield pool, context.catalogue.gpu(pool.gpu.value)
        except UnknownKeyError:
            continue


@written_rule("cuda-not-for-gpu")
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
            yield cuda_for_gpu.say(
                container=container,
                first=first,
                names=names,
                cuda=cuda,
                gpus=sorted({gpu.key for _, gpu in pools}),
            )


def _taking(context: RuleContext, group: PodGroup) -> Iterator[tuple[NodePool, Gpu]]:
    """GPU pools that may take pods of a group."""
    for pool, gpu in _pools(context):
        if accepts(context, pool, group) is not False:
            yield pool, gpu


def _cuda_of(image: str | None) -> str | None:
    """The toolkit that an image's tag names; None where it names none."""
    name, _, tag = (image or "").partition("@")[0].rpartition(":")
    if not name or "/" in tag:
        return None
    found = _OWN_TAG.match(tag) if name.endswith("nvidia/cuda") else _TAG.search(tag)
    return None if found is None else f"{found[1]}.{found[2]}"
