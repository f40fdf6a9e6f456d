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
    """Kind, as the command names it: `mig-parted`, `device-plugin`, `gpu-operator-values`, ..."""
    text: str = ""
    """The document, in YAML; empty where it is an object."""
    document: Mapping[str, Any] | None = None
    """The object, without unreadable parts. Objects of one kind are validated together."""
    place: str = ""
    """Field of the object that holds it: `data[config.yaml]`."""
    key: str = ""
    """Its key in a ConfigMap."""
    complete: bool = True
    """False: unreadable parts were left out, so a missing entry proves nothing."""
    select: str | None = None
    """Name of the config that nodes use, if known."""
    version: Fact[str] = NOTHING
    """Release of the chart that reads it."""
    chart: str = ""
    """The chart that installs the reader of the configuration; empty: not known."""
    chart_version: Fact[str] = NOTHING
    """Release of that chart, for a configuration inside its values."""
    parts: ReleaseValues | None = None
    """Source of each value; None: below `place`."""
    is_named: bool = False
    """Whether the caller names the kind: the whole text is the configuration."""

    def written_at(self, path: str) -> str:
        """The field of the object for a path of the configuration."""
        return joined(self.place, path) if self.parts is None else self.parts.place_of(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChoices(Subject):
    """Cluster-wide settings of one installation of NVIDIA's software."""

    installs: str
    """`gpu-operator`, `nvidia-device-plugin`, `nvidia-dra-driver-gpu`, ..."""
    mig_strategy: Fact[str] = NOTHING
    """`none`, `single` or `mixed`, its default applied."""
    mig_config_default: Fact[str] = NOTHING
    """Config of nodes without a label, its default applied."""
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
    """Whether the driver has a licence configuration."""
    plugin_config_default: Fact[str] = NOTHING
    """Key of the device-plugin ConfigMap for nodes without a label."""
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
    """Key in its ConfigMap, which a node label names."""
    mode: str
    """`timeSlicing` or `mps`."""
    resources: tuple[SharedResource, ...]
    rename_by_default: Fact[bool] = NOTHING
    fail_requests_greater_than_one: Fact[bool] = NOTHING
    mig_strategy: Fact[str] = NOTHING
    """`flags.migStrategy` of the same document."""
    place: str = ""


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
