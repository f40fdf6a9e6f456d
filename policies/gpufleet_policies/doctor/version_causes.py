"""Causes in versions: CUDA of an image, driver and operator of a GPU.

Sources: NVIDIA, CUDA Compatibility (a driver runs images of its major version, and of newer ones
only with the forward compatibility package); the catalogue's ranges of drivers and operators.
"""

import re
from collections.abc import Iterator

from gpufleet.catalogue import Catalogue, Gpu, load
from gpufleet.contract.driver_ranges import driver_problem, operator_problem
from gpufleet_policies.doctor.cause import (
    Cause,
    Patient,
    Sighting,
    Sign,
    cause,
    found_at,
    of_nodes,
)
from gpufleet_policies.doctor.observed import PRODUCT, SeenNode, SeenPod
from gpufleet_policies.doctor.snapshot import Dump

_CUDA = "nvidia.com/cuda.runtime-version"
_DRIVER = "nvidia.com/cuda.driver-version"
_UNSATISFIED = re.compile(r"unsatisfied condition: cuda>=(\d+\.\d+)")
_IN_IMAGE = (
    re.compile(r"/cuda:(\d+)\.(\d+)"),
    re.compile(r"(?:^|[^a-z])cuda-?v?(\d{2})\.(\d+)"),
    re.compile(r"(?:^|[-:+_.])cu(\d{2})(\d)(?:\D|$)"),
)


def cuda_of(image: str) -> tuple[int, int] | None:
    """The CUDA release that the name of an image says; None: none."""
    for form in _IN_IMAGE:
        found = form.search(image)
        if found is not None:
            return int(found[1]), int(found[2])
    return None


def _full(node: SeenNode, label: str) -> str:
    full = node.labels.get(f"{label}.full", "")
    parts = [node.labels.get(f"{label}.{one}", "") for one in ("major", "minor", "revision")]
    return full or ".".join(part for part in parts if part)


def _too_new(patient: Patient, pod: SeenPod, node: SeenNode) -> tuple[str, str] | None:
    """CUDA that an image wants and the place that says so, where the node's driver has less."""
    found = _UNSATISFIED.search(patient.cluster.said_of(pod))
    if found is not None:
        return found[1], "status.containerStatuses[].state"
    given = _full(node, _CUDA).split(".")[0]
    for wanted in map(cuda_of, pod.images) if pod.trouble and given.isdigit() else ():
        if wanted is not None and wanted[0] > int(given):
            return f"{wanted[0]}.{wanted[1]}", "spec.containers[].image"
    return None


@cause("cuda-newer-than-driver")
def _cuda(patient: Patient) -> Iterator[Sighting]:
    for pod in patient.cluster.pods:
        node = patient.cluster.nodes.get(pod.node)
        if node is None or not pod.wants_gpus or pod.ended or pod.ref in patient.explained:
            continue
        found = _too_new(patient, pod, node)
        if found is None:
            continue
        driver, given = _full(node, _DRIVER) or "version not known", _full(node, _CUDA)
        yield found_at(
            pod,
            Sign(pod.ref, found[1], f"cuda {found[0]}"),
            Sign(node.ref, f"metadata.labels[{_DRIVER}]", driver),
            explains=(f"held:{pod.ref}",),
            wanted=found[0],
            driver=driver,
            given=given or "less",
            major=given.split(".")[0] or str(int(found[0].split(".")[0]) - 1),
        )


def _gpu_of(node: SeenNode, catalogue: Catalogue) -> Gpu | None:
    """The GPU of the catalogue that a node's product label names."""
    product = re.sub(r"(-MIG-[\w.]+)?(-SHARED)?$", "", node.labels.get(PRODUCT, ""))
    return next((gpu for gpu in catalogue.gpus.values() if gpu.product_label == product), None)


def _operator(cluster: Dump) -> str:
    """The release of the GPU Operator, by the image of its pod; empty: not known."""
    images = (image for pod in cluster.pods for image in pod.images)
    found = (re.search(r"/gpu-operator:v?(\d+\.\d+[\w.-]*)", image) for image in images)
    return next((one[1] for one in found if one is not None), "")


def _range(code: str, *, operator: bool) -> Cause:
    """A cause of versions outside of what the catalogue says of the GPU."""
    ask = operator_problem if operator else driver_problem

    def find(patient: Patient, node: SeenNode) -> Sighting | None:
        catalogue = load()
        gpu = _gpu_of(node, catalogue)
        version = _operator(patient.cluster) if operator else _full(node, _DRIVER)
        problem = ask(gpu, version, catalogue) if gpu is not None and version else None
        if problem is None:
            return None
        return found_at(
            node,
            Sign(node.ref, f"metadata.labels[{PRODUCT}]", node.labels[PRODUCT]),
            Sign("gpu-operator" if operator else node.ref, "version", version),
            problem=problem,
        )

    return of_nodes(code)(find)


CAUSES = (
    _cuda,
    _range("driver-not-for-gpu", operator=False),
    _range("operator-not-for-gpu", operator=True),
)
