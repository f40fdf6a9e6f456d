"""The file the device plugin and GFD read: schema and rejections of its `v1` config.

Unknown keys are ignored and keys match whatever their case, as Go's JSON decoder has it, except
inside a sharing block, where the plugin decodes by exact name (rules DP-1 to DP-8 and DP-11 to
DP-17).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.kubernetes_yaml import DocumentError, load_document, whole_number

STRATEGIES = ("none", "single", "mixed")
_CHOICES = {
    "migStrategy": STRATEGIES,
    "deviceDiscoveryStrategy": ("auto", "nvml", "tegra"),
}
_PLUGIN_CHOICES = {
    "deviceListStrategy": ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri"),
    "deviceIDStrategy": ("uuid", "index"),
    "sharedDevicesAllocationPolicy": ("distributed", "packed"),
}
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_DEVICE = re.compile(
    r"^([0-9]+(:[0-9]+)?|GPU-[0-9a-f-]{36}|MIG-[0-9a-f-]{36}|MIG-GPU-[0-9a-f-]{36}/[0-9]+/[0-9]+)$"
)


class PluginConfigError(ValueError):
    """The plugin refuses the file."""


@dataclass(frozen=True, slots=True)
class Replicated:
    """One shared resource."""

    name: str
    """With the `nvidia.com/` prefix."""
    replicas: int


@dataclass(frozen=True, slots=True)
class SharingInForce:
    """A sharing block that is in force."""

    kind: str
    """`time-slicing` or `mps`, the values of GFD's label."""
    rename: bool
    fail_requests_greater_than_one: bool
    resources: tuple[Replicated, ...]

    def replicas(self, resource: str) -> int:
        """Replicas of a resource; 1 if it is not shared. Of repeated entries the largest counts."""
        return max((r.replicas for r in self.resources if r.name == resource), default=1)


@dataclass(frozen=True, slots=True)
class OperandPluginConfig:
    """Settings that the plugin reads from the file."""

    mig_strategy: str | None = None
    mps_root: str | None = None
    sharing: SharingInForce | None = None
    warnings: tuple[str, ...] = ()


def parse_plugin_config(text: str) -> OperandPluginConfig:
    """Parse one key's text; raises PluginConfigError with the plugin's reason."""
    try:
        document = load_document(text)
    except DocumentError as problem:
        raise PluginConfigError(str(problem)) from problem
    version = _folded(document, "version")
    if version not in (None, "v1"):
        raise PluginConfigError(f"unknown version: {version}")
    warnings: list[str] = []
    flags = _mapping(_folded(document, "flags"), "flags")
    plugin = _mapping(_folded(flags, "plugin"), "flags.plugin")
    _check_choices(flags, _CHOICES)
    _check_choices(plugin, _PLUGIN_CHOICES)
    _check_resources(_mapping(_folded(document, "resources"), "resources"), warnings)
    _check_imex(_mapping(_folded(document, "imex"), "imex"))
    blocks = _mapping(_folded(document, "sharing"), "sharing")
    slicing = _sharing("time-slicing", _folded(blocks, "timeSlicing"), False, warnings)
    mps = _sharing("mps", _folded(blocks, "mps"), True, warnings)
    if slicing and mps:
        warnings.append("timeSlicing and mps are both given: mps is used")
    root = _folded(flags, "mpsRoot")
    return OperandPluginConfig(_folded(flags, "migStrategy"), root, mps or slicing, tuple(warnings))


def check_together(config: OperandPluginConfig, strategy: str, mps_root: str) -> None:
    """Raise PluginConfigError where sharing and the effective strategy exclude each other."""
    if config.sharing is None or config.sharing.kind != "mps":
        return
    if strategy == "mixed":
        raise PluginConfigError("using --mig-strategy=mixed is not supported with MPS")
    if not (mps_root or config.mps_root):
        raise PluginConfigError("using MPS requires --mps-root to be specified")


def _folded(mapping: Mapping[str, Any], name: str) -> Any:
    if name in mapping:
        return mapping[name]
    return next((value for key, value in mapping.items() if key.lower() == name.lower()), None)


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PluginConfigError(f"cannot unmarshal {value!r} into {path}")
    return value


def _check_choices(flags: Mapping[str, Any], choices: Mapping[str, tuple[str, ...]]) -> None:
    for name, allowed in choices.items():
        value = _folded(flags, name)
        if value is None:
            continue
        items = value if name == "deviceListStrategy" and isinstance(value, list) else [value]
        for item in items:
            if item not in allowed:
                raise PluginConfigError(
                    f"invalid --{name} option: {item} (one of {', '.join(allowed)})"
                )


def _check_resources(resources: Mapping[str, Any], warnings: list[str]) -> None:
    for kind in ("gpus", "mig"):
        for entry in _folded(resources, kind) or []:
            if not isinstance(entry, dict) or not {"pattern", "name"} <= set(entry):
                raise PluginConfigError("resources without pattern or name")
    if resources:
        warnings.append("customizing the 'resources' field is not supported: ignored")


def _check_imex(imex: Mapping[str, Any]) -> None:
    channels = _folded(imex, "channelIDs")
    if channels not in (None, [], [0]):
        raise PluginConfigError(f"invalid IMEX channel IDs {channels!r}: only [] or [0]")


def _sharing(kind: str, block: Any, fails: bool, warnings: list[str]) -> SharingInForce | None:
    if block is None:
        return None
    if not isinstance(block, dict) or not block.get("resources"):
        raise PluginConfigError(f"no resources specified for {kind}")
    if not isinstance(block["resources"], list):
        raise PluginConfigError(f"resources of {kind} must be a list")
    resources = tuple(_replicated(entry, warnings) for entry in block["resources"])
    rename = block.get("renameByDefault", False)
    refuse = block.get("failRequestsGreaterThanOne", fails)
    for name, value in (("renameByDefault", rename), ("failRequestsGreaterThanOne", refuse)):
        if not isinstance(value, bool):
            raise PluginConfigError(f"{name} must be a boolean, found {value!r}")
    return SharingInForce(kind, rename, refuse, resources)


def _replicated(entry: Any, warnings: list[str]) -> Replicated:
    if not isinstance(entry, dict) or "name" not in entry:
        raise PluginConfigError("no resource name specified")
    name = _resource_name(entry["name"])
    if "replicas" not in entry:
        raise PluginConfigError(f"no number of replicas specified for {name}")
    replicas = whole_number(entry["replicas"])
    if replicas is None:
        raise PluginConfigError(f"replicas of {name} must be a number: {entry['replicas']!r}")
    if replicas < 2:
        raise PluginConfigError(f"number of replicas must be >= 2, {name} has {replicas}")
    if "rename" in entry:
        warnings.append(f"setting 'rename' of {name} is not supported: ignored")
    if "devices" in entry:
        _check_devices(entry["devices"])
        if entry["devices"] != "all":
            warnings.append(f"setting 'devices' of {name} is not supported: ignored")
    return Replicated(name, replicas)


def _resource_name(value: Any) -> str:
    if not isinstance(value, str):
        raise PluginConfigError(f"resource name must be a string: {value!r}")
    suffix = value.removeprefix("nvidia.com/")
    full = f"nvidia.com/{suffix}"
    if len(full) > 63:
        raise PluginConfigError(f"fully-qualified resource name {full} has over 63 characters")
    if not _SUBDOMAIN.match(suffix):
        raise PluginConfigError(f"incorrect format for resource name {value!r}")
    return full


def _check_devices(value: Any) -> None:
    if value == "all":
        return
    count = whole_number(value)
    if count is not None and count > 0:
        return
    if isinstance(value, list) and value and all(_DEVICE.match(str(item)) for item in value):
        return
    raise PluginConfigError(f"unrecognized devices: {value!r}")
