"""Findings about NIMs before anything is made (NVIDIA k8s-nim-operator v3.1.2)."""

from collections.abc import Iterator

from gpufleet.findings import Finding, findings_in
from gpufleet.spec.nim import Nim

_finding = findings_in(__file__)

LONGEST_NAME = 63 - len("-12345678-job")
"""Characters of a NIM's name: a job's name is a label of its pod."""


def validate_nim(nim: Nim) -> list[Finding]:
    """Everything that is wrong with a NIM; paths begin at the arguments."""
    return [*_name(nim), *_image(nim), *_size(nim), *_growth(nim)]


def _name(nim: Nim) -> Iterator[Finding]:
    if len(nim.name) > LONGEST_NAME:
        yield _finding("nim-name-too-long", nim=nim.name, found=len(nim.name), limit=LONGEST_NAME)
    if nim.name[0].isdigit():
        yield _finding("nim-name-begins-with-digit", found=nim.name)


def _image(nim: Nim) -> Iterator[Finding]:
    if nim.tag == "latest":
        yield _finding("nim-tag-not-pinned", found=nim.tag)
    if ":" in nim.image.rsplit("/", 1)[-1]:
        yield _finding("nim-image-with-tag", found=nim.image)


def _size(nim: Nim) -> Iterator[Finding]:
    if nim.model.tensor_parallelism > nim.count:
        yield _finding(
            "nim-parallelism-over-count", found=nim.model.tensor_parallelism, limit=nim.count
        )
    if "/mig-" in nim.resource and nim.model.tensor_parallelism > 1:
        yield _finding("nim-parallelism-on-slices", found=nim.model.tensor_parallelism, limit=1)


def _growth(nim: Nim) -> Iterator[Finding]:
    several = nim.replicas if nim.scale is None else nim.scale.max
    if several > 1 and not nim.storage.shared:
        yield _finding("nim-cache-on-one-node", found=several, limit=1)
    if nim.monitor_labels and not nim.metrics:
        yield _finding("nim-monitor-labels-ignored", found=sorted(nim.monitor_labels))
    if nim.scale is not None and nim.replicas != 1:
        yield _finding("nim-replicas-ignored", found=nim.replicas)
