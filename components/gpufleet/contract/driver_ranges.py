"""Whether a driver, its kernel modules, CUDA and the GPU Operator support a GPU.

Ranges are rows of the catalogue (`drivers.jsonl`). An unknown range is not a problem.
"""

import re
from dataclasses import dataclass

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.gpu import Gpu
from gpufleet.catalogue.source import Source
from gpufleet.contract.contract_fact import ContractFact

DRIVER = "driver-not-for-gpu"
MODULES = "kernel-module-not-for-gpu"
OPERATOR = "gpu-operator-too-old-for-gpu"

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*")


@dataclass(frozen=True, slots=True)
class RangeProblem:
    """A version outside the range of a GPU."""

    code: str
    found: str
    limit: str
    message: str
    fix: str
    reason: ContractFact
    """The range, with its row and its source document."""


def version_parts(text: str) -> tuple[int, ...]:
    """The numbers of a version or branch: `580.95.05`, `v25.10.0`, `R580`; empty: none."""
    found = _VERSION.search(text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def is_older(found: str, limit: str) -> bool:
    """Whether a version is certainly older: for a branch only the branch is compared."""
    own, least = version_parts(found), version_parts(limit)
    shared = min(len(own), len(least))
    return own[:shared] < least[:shared]


def driver_problem(gpu: Gpu, driver: str, catalogue: Catalogue) -> RangeProblem | None:
    """A driver version or branch that does not support the GPU."""
    generation, support = gpu.generation, gpu.support
    last = None if generation is None else generation.last_driver
    if generation is not None and last and version_parts(driver)[:1] > version_parts(last):
        return RangeProblem(
            DRIVER,
            driver,
            last,
            f"driver {driver} does not support {gpu.key}: {last} is the last branch for "
            f"{gpu.architecture}",
            f"use a driver of branch {last}" + _known_release(last, catalogue),
            _fact(f"branch {last} is the last one for {gpu.key}", generation.source, catalogue),
        )
    first = None if support is None else support.first_driver
    if support is None or first is None or not is_older(driver, first):
        return None
    return RangeProblem(
        DRIVER,
        driver,
        first,
        f"driver {driver} does not support {gpu.key}: NVIDIA documents it from {first} on",
        f"use driver {first} or later",
        _fact(f"{first} is the oldest driver for {gpu.key}", support.source, catalogue),
    )


def module_problem(gpu: Gpu, modules: str, catalogue: Catalogue) -> RangeProblem | None:
    """Kernel modules, `open` or `proprietary`, that do not support the GPU."""
    wanted = gpu.kernel_modules
    if modules not in ("open", "proprietary") or wanted in (None, "either", modules):
        return None
    own = gpu.support is not None and gpu.support.kernel_modules is not None
    row = gpu.support if own else gpu.generation
    assert row is not None
    assert wanted is not None
    return RangeProblem(
        MODULES,
        modules,
        wanted,
        f"the {modules} kernel modules do not support {gpu.key}: only the {wanted} ones do",
        "write kernelModuleType: auto, which chooses by GPU",
        _fact(f"{gpu.key} needs the {wanted} kernel modules", row.source, catalogue),
    )


def operator_problem(gpu: Gpu, operator: str, catalogue: Catalogue) -> RangeProblem | None:
    """A release of the GPU Operator that is older than the GPU."""
    first = None if gpu.support is None else gpu.support.first_operator
    if gpu.support is None or first is None or not is_older(operator, first):
        return None
    plugin = gpu.support.first_device_plugin
    return RangeProblem(
        OPERATOR,
        operator,
        first,
        f"GPU Operator {operator} does not support {gpu.key}: {first} is the first that does",
        f"use release {first} or later" + (f" (device plugin {plugin})" if plugin else ""),
        _fact(f"{gpu.key} is supported from {first} on", gpu.support.source, catalogue),
    )


def cuda_problem(gpu: Gpu, cuda: str, catalogue: Catalogue) -> RangeProblem | None:
    """A CUDA toolkit, `13.0`, that has no code for the GPU."""
    generation = gpu.generation
    if generation is None or gpu.compute_capability is None:
        return None
    capability = ".".join(map(str, gpu.compute_capability))
    last = generation.last_cuda
    if last is not None and version_parts(cuda)[:1] > version_parts(last):
        limit, message = last, f"CUDA {last} is the last one for {gpu.key}"
    elif is_older(cuda, generation.first_cuda):
        limit = generation.first_cuda
        message = f"CUDA {limit} is the first one for {gpu.key}"
    else:
        return None
    return RangeProblem(
        "cuda-not-for-gpu",
        cuda,
        limit,
        f"CUDA {cuda} has no code for {gpu.key} (compute capability {capability}): {message}",
        f"use an image with CUDA {limit}" + (".x" if limit == last else " or later"),
        _fact(message, generation.source, catalogue),
    )


def _known_release(branch: str, catalogue: Catalogue) -> str:
    """A driver of the branch that a release of the operator installs, as an example."""
    known = [
        one.driver
        for one in catalogue.drivers.operators.values()
        if one.driver.startswith(f"{branch}.")
    ]
    return f", for example {max(known, key=version_parts)}" if known else ""


def _fact(fact: str, source: Source, catalogue: Catalogue) -> ContractFact:
    return ContractFact(fact, catalogue.sources[source.key].location)
