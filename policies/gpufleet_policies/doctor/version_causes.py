"""Causes in versions: CUDA of an image, driver and operator of a GPU.

Sources: NVIDIA, CUDA Compatibility (a driver runs images of its major version, and of newer ones
only with the forward compatibility package); the catalogue's ranges of drivers and operators.
"""

import re
from collections.abc import Iterator

from gpufleet.catalogue import Catalogue, Gpu, load
from gpufleet.contract.driver_ranges import RangeProblem, driver_problem, operator_problem
from gpufleet.findings import Severity
from gpufleet_policies.doctor.cause import Cause, Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.node_causes import promised
from gpufleet_policies.doctor.observed import PRODUCT, Cluster, Node, Pod

_COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/"
_TOOLKIT = "https://github.com/NVIDIA/nvidia-container-toolkit/issues/152"
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


def _full(node: Node, label: str) -> str:
    full = node.labels.get(f"{label}.full", "")
    parts = [node.labels.get(f"{label}.{one}", "") for one in ("major", "minor", "revision")]
    return full or ".".join(part for part in parts if part)


def _too_new(patient: Patient, pod: Pod, node: Node) -> tuple[str, str] | None:
    """CUDA that an image wants and the place that says so, where the node's driver has less."""
    trouble = pod.trouble
    told = " ".join(event.message for event in patient.cluster.events_of(pod))
    found = _UNSATISFIED.search(f"{trouble.message if trouble else ''} {told}")
    if found is not None:
        return found[1], "status.containerStatuses[].state"
    given = _full(node, _CUDA).split(".")
    if trouble is None or not given[0].isdigit():
        return None
    for image in pod.images:
        wanted = cuda_of(image)
        if wanted is not None and wanted[0] > int(given[0]):
            return f"{wanted[0]}.{wanted[1]}", "spec.containers[].image"
    return None


@cause("cuda-newer-than-driver")
def cuda(patient: Patient) -> Iterator[Found]:
    for pod in patient.cluster.pods:
        node = patient.cluster.nodes.get(pod.node)
        if node is None or not pod.wants_gpus or pod.ended or pod.ref in patient.explained:
            continue
        found = _too_new(patient, pod, node)
        if found is None:
            continue
        wanted, place = found
        yield found_at(
            pod,
            Evidence(pod.ref, place, f"cuda {wanted}"),
            Evidence(node.ref, f"metadata.labels[{_DRIVER}]", _full(node, _DRIVER) or "?"),
            explains=(f"held:{pod.ref}",),
            gpus=sum(pod.devices.values()),
            wanted=wanted,
            a=_full(node, _DRIVER) or "version not known",
            b=_full(node, _CUDA) or "less",
            c=_full(node, _CUDA).split(".")[0] or "of the driver",
        )


def gpu_of(node: Node, catalogue: Catalogue) -> Gpu | None:
    """The GPU of the catalogue that a node's product label names."""
    product = re.sub(r"(-MIG-[\w.]+)?(-SHARED)?$", "", node.labels.get(PRODUCT, ""))
    return next(
        (gpu for gpu in catalogue.gpus.values() if product and gpu.product_label == product), None
    )


def _range(code: str, title: str, *, operator: bool) -> Cause:
    @cause(
        code,
        title,
        "https://docs.nvidia.com/datacenter/tesla/drivers/supported-drivers-and-cuda-toolkit-versions.html",
    )
    def find(patient: Patient) -> Iterator[Found]:
        catalogue = load()
        release = _operator(patient.cluster) if operator else ""
        for node in patient.cluster.nodes.values():
            gpu = gpu_of(node, catalogue)
            version = release if operator else _full(node, _DRIVER)
            if gpu is None or not version or gpu.vendor != "nvidia":
                continue
            ask = operator_problem if operator else driver_problem
            problem: RangeProblem | None = ask(gpu, version, catalogue)
            if problem is None:
                continue
            yield Found(
                node.ref,
                f"{node.name}: {problem.message}",
                problem.fix,
                (
                    Evidence(node.ref, f"metadata.labels[{PRODUCT}]", node.labels[PRODUCT]),
                    Evidence("gpu-operator" if operator else node.ref, "version", version),
                ),
                gpus=promised(patient, node),
            )

    return find


def _operator(cluster: Cluster) -> str:
    for pod in cluster.pods:
        for image in pod.images:
            found = re.search(r"/gpu-operator:v?(\d+\.\d+[\w.-]*)", image)
            if found is not None:
                return found[1]
    return ""


driver = _range(
    "driver-not-for-gpu", "The driver of a node does not support its GPU.", operator=False
)
operator = _range(
    "operator-not-for-gpu",
    "The release of the GPU Operator is older than its support of a node's GPU.",
    operator=True,
)


@cause("image-cuda-not-for-gpu")
def no_code(patient: Patient) -> Iterator[Found]:
    from gpufleet.contract.driver_ranges import cuda_problem

    catalogue = load()
    for pod in patient.cluster.pods:
        node = patient.cluster.nodes.get(pod.node)
        if node is None or not pod.devices or pod.trouble is None or pod.ref in patient.explained:
            continue
        gpu = gpu_of(node, catalogue)
        for image in pod.images if gpu is not None else ():
            wanted = cuda_of(image)
            problem = (
                None
                if wanted is None or gpu is None
                else cuda_problem(gpu, f"{wanted[0]}.{wanted[1]}", catalogue)
            )
            if problem is not None:
                yield found_at(
                    pod,
                    Evidence(pod.ref, "spec.containers[].image", f"CUDA {problem.found}"),
                    explains=(f"held:{pod.ref}",),
                    gpus=sum(pod.devices.values()),
                    fix=problem.fix,
                    problem=problem,
                )


CAUSES = (cuda, driver, operator, no_code)
