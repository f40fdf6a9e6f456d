"""Findings about NIMs before anything is made (NVIDIA k8s-nim-operator v3.1.2)."""

from collections.abc import Iterator

from gpufleet.findings import Finding, error, warning
from gpufleet.spec.nim import Nim

LONGEST_NAME = 63 - len("-12345678-job")
"""Characters of a NIM's name: a job's name is a label of its pod."""


def validate_nim(nim: Nim) -> list[Finding]:
    """Everything that is wrong with a NIM; paths begin at the arguments."""
    return [*_name(nim), *_image(nim), *_size(nim), *_growth(nim)]


def _name(nim: Nim) -> Iterator[Finding]:
    if len(nim.name) > LONGEST_NAME:
        yield error(
            "nim-name-too-long",
            "name",
            f"{nim.name} has {len(nim.name)} characters; the operator's job is called "
            f"`{nim.name}-<digest>-job`, and that must fit a label's 63",
            f"shorten it to {LONGEST_NAME} characters",
            found=len(nim.name),
            limit=LONGEST_NAME,
        )
    if nim.name[0].isdigit():
        yield warning(
            "nim-name-begins-with-digit",
            "name",
            f"the operator makes a Service called {nim.name}, and Kubernetes before 1.36 refuses "
            "names of Services that begin with a digit",
            "begin it with a letter",
            found=nim.name,
            source="KEP-5311, RelaxedServiceNameValidation",
        )


def _image(nim: Nim) -> Iterator[Finding]:
    if nim.tag == "latest":
        yield error(
            "nim-tag-not-pinned",
            "tag",
            "`latest` is another server after each restart",
            "write the version, `1.8.4`",
            found=nim.tag,
        )
    if ":" in nim.image.rsplit("/", 1)[-1]:
        yield error(
            "nim-image-with-tag",
            "image",
            f"{nim.image} names a tag already",
            "write the tag under `tag`",
            found=nim.image,
        )


def _size(nim: Nim) -> Iterator[Finding]:
    if nim.model.tensor_parallelism > nim.count:
        yield error(
            "nim-parallelism-over-count",
            "model.tensorParallelism",
            f"one replica is spread over {nim.model.tensor_parallelism} GPUs and asks for "
            f"{nim.count}",
            f"write `count: {nim.model.tensor_parallelism}`",
            found=nim.model.tensor_parallelism,
            limit=nim.count,
        )
    if "/mig-" in nim.resource and nim.model.tensor_parallelism > 1:
        yield error(
            "nim-parallelism-on-slices",
            "model.tensorParallelism",
            "MIG slices have no way to each other: NCCL does not connect them",
            "write 1, and a larger slice or whole GPUs",
            found=nim.model.tensor_parallelism,
            limit=1,
        )


def _growth(nim: Nim) -> Iterator[Finding]:
    several = nim.replicas if nim.scale is None else nim.scale.max
    if several > 1 and not nim.storage.shared:
        yield warning(
            "nim-cache-on-one-node",
            "storage.shared",
            f"{several} replicas read one volume that only one node can mount: replicas on other "
            "nodes never start",
            "write `shared: true` with a storage class that several nodes can mount",
            found=several,
            limit=1,
        )
    if nim.monitor_labels and not nim.metrics:
        yield warning(
            "nim-monitor-labels-ignored",
            "monitorLabels",
            "no ServiceMonitor is made that could carry them",
            "write `metrics: true`, or remove them",
            found=sorted(nim.monitor_labels),
        )
    if nim.scale is not None and nim.replicas != 1:
        yield warning(
            "nim-replicas-ignored",
            "replicas",
            f"{nim.replicas} is ignored: the autoscaler decides",
            "remove it",
            found=nim.replicas,
        )
