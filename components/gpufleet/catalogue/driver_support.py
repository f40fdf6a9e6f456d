"""Types of the driver table: which drivers and which CUDA support a GPU."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufleet.catalogue.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSupport:
    """Drivers, CUDA and kernel modules for all GPUs of one compute capability."""

    first_cuda: str
    """First CUDA toolkit that compiles for it: `12.9`."""
    last_cuda: str | None = None
    """Last major version of the toolkit, `12`; None: no end is announced."""
    last_driver: str | None = None
    """Last driver branch, `580`; None: no end is announced."""
    kernel_modules: str
    """`open` or `proprietary` where only these work, else `either`."""
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSupport:
    """First driver and GPU Operator that support one GPU. None: not sourced."""

    first_driver: str | None = None
    """Oldest driver that NVIDIA documents for it: `580.82.07`."""
    first_operator: str | None = None
    """First release of the GPU Operator that supports it: `25.10.0`."""
    first_device_plugin: str | None = None
    """Device plugin of that release."""
    kernel_modules: str | None = None
    """Kernel modules of this GPU; None: those of its compute capability."""
    source: Source
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRelease:
    """A release of the GPU Operator."""

    driver: str
    """The driver it installs by default."""
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBranch:
    """A branch of drivers, of data centers and of vGPU guests alike."""

    end_of_life: str
    """Last month in which it is supported: `2026-06`."""
    kind: str
    """`long-term support`, `production` or `new feature`."""
    source: Source


@dataclass(frozen=True, slots=True)
class DriverTable:
    """All rows of drivers.jsonl."""

    generations: Mapping[tuple[int, int], GenerationSupport]
    gpus: Mapping[str, GpuSupport]
    operators: Mapping[str, OperatorRelease]
    """Operator releases by version, without the chart's `v`."""
    branches: Mapping[str, DriverBranch]
    """Branches by major version: `580`. A branch without a row is unknown."""
