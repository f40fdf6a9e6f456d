"""NVIDIA's software as facts: the configuration of operators and plugins."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.release_values import ReleaseValues, joined
from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class NvidiaConfig(Subject):
    """A configuration that `gpufleet check` can validate."""

    kind: str
    """Kind as the command names it: `mig-parted`, `device-plugin`, `gpu-operator-values`, ..."""
    text: str = ""
    """The document, in YAML; empty where it is an object."""
    document: Mapping[str, Any] | None = None
    """The object, without what cannot be read. Objects of a kind are validated together."""
    place: str = ""
    """Field of the object that holds it: `data[config.yaml]`."""
    key: str = ""
    """Its key in a ConfigMap."""
    complete: bool = True
    """False: parts cannot be read and were left out, so what is missing proves nothing."""
    select: str | None = None
    """The config of several that nodes are given, where that is known."""
    version: Fact[str] = NOTHING
    """Of the chart that will read it."""
    path: tuple[str, ...] | None = None
    """Keys of the object that lead to the configuration; None where no patch could find it."""
    held: str = ""
    """The text that holds it in the object; empty where it is data."""
    chart: str = ""
    """The chart that installs what reads it; empty: not known."""
    chart_version: Fact[str] = NOTHING
    """Of that chart, for a configuration inside its values."""
    parts: ReleaseValues | None = None
    """Where each value is written; None: below `place`."""
    is_named: bool = False
    """Whether the caller names its kind: the text is all of it, whatever it holds."""

    def written_at(self, path: str) -> str:
        """The field of the object that has what a path of the configuration leads to."""
        return joined(self.place, path) if self.parts is None else self.parts.place_of(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChoices(Subject):
    """What an installation of NVIDIA's software does for all nodes of a cluster."""

    installs: str
    """`gpu-operator`, `nvidia-device-plugin`, `nvidia-dra-driver-gpu`, ..."""
    mig_strategy: Fact[str] = NOTHING
    """`none`, `single` or `mixed`, its default applied."""
    mig_config_default: Fact[str] = NOTHING
    """Config that nodes without a label get, its default applied."""
    dcgm_exporter: Fact[bool] = NOTHING
    driver_enabled: Fact[bool] = NOTHING
    driver_version: Fact[str] = NOTHING
    """Version or branch of the driver, as written."""
    kernel_modules: Fact[str] = NOTHING
    """`auto`, `open` or `proprietary`, as written."""
    version: Fact[str] = NOTHING
    """Release of the chart."""
    toolkit_enabled: Fact[bool] = NOTHING
    plugin_enabled: Fact[bool] = NOTHING
    """Whether it runs the device plugin."""
    licence: Fact[bool] = NOTHING
    """Whether the driver is given a licence configuration."""
    plugin_config_default: Fact[str] = NOTHING
    """Key of the device-plugin ConfigMap that nodes without a label get."""
    selects_nodes: bool = False
    """Whether it runs on some nodes only."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedResource:
    """One entry of a device-plugin sharing block."""

    name: str
    replicas: int | None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingConfig(Subject):
    """The sharing that a device-plugin configuration declares."""

    key: str = ""
    """Key of its ConfigMap: what a node label names."""
    mode: str
    """`timeSlicing` or `mps`."""
    resources: tuple[SharedResource, ...]
    rename_by_default: Fact[bool] = NOTHING
    fail_requests_greater_than_one: Fact[bool] = NOTHING
    mig_strategy: Fact[str] = NOTHING
    """`flags.migStrategy` of the same document."""
    place: str = ""
    path: tuple[str, ...] | None = None
    """Keys of the object that lead to the configuration; None where no patch could find it."""
    text: str = ""
    """The configuration where the object holds it as text; empty where it is data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigLayouts(Subject):
    """The MIG layouts that a mig-parted configuration names."""

    layouts: Mapping[str, tuple["MigEntry", ...]]
    """Config name -> entries."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigEntry:
    """One entry of a mig-parted config."""

    all_devices: bool
    indices: tuple[int, ...]
    enabled: bool
    devices: Mapping[str, int] = field(default_factory=dict[str, int])
    filters: tuple[str, ...] = ()
    """PCI device ids; empty: any GPU."""
