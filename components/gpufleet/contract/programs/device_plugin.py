"""Kind `device-plugin`: whether the plugin starts with this file, and what a node then offers."""

from collections.abc import Mapping
from typing import Any, cast

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.device_plugin_document import (
    PluginDocument,
    SharingBlock,
    parse_config,
)
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.mig_parted_document import profile_is_valid
from gpufleet.contract.programs.node import (
    GPU_RESOURCE,
    NodeSharing,
    advertise,
    mig_resource,
    offered,
)
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import (
    AdvertisedByConfig,
    CheckReport,
    Judgement,
    allows_mps,
    mig_strategy,
    written_strategy,
)
from gpufleet.documents.document import GoDocument
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table

RULES = rule_table(*rules_in("device_plugin", "unknown_keys", "text_notes"))

MPS_LIMIT = 48
"""Maximum number of MPS clients from compute capability 7.5 on, if the GPU is not known."""

_CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "migStrategy": ("MIG_STRATEGY", ("none", "single", "mixed")),
    "deviceIDStrategy": ("DEVICE_ID_STRATEGY", ("uuid", "index")),
    "deviceDiscoveryStrategy": ("DEVICE_DISCOVERY_STRATEGY", ("auto", "nvml", "tegra")),
    "sharedDevicesAllocationPolicy": (
        "SHARED_DEVICES_ALLOCATION_POLICY",
        ("distributed", "packed"),
    ),
}
_LIST_STRATEGIES = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate one configuration of the device plugin."""
    report = CheckReport(RULES)
    note_text(read, report)
    validate_chart(context, report)
    plugin = context.release_of(CHART)
    config = parse_config(read.data, plugin.at, report)
    if config is None:
        return report.validation()
    strategy = _validate_flags(config, context, report)
    block = config.mps or config.time_slicing
    if config.mps is not None:
        _validate_mps(config, config.mps, strategy, context, report)
    if block is not None:
        _validate_offered(block, strategy, context, report)
    if report.rejected:
        return report.validation()
    return report.validation(_advertised(config, strategy or "none", context))


def _validate_flags(config: PluginDocument, context: Site, report: CheckReport) -> str | None:
    """Check every choice; returns the MIG strategy in force, None if it is not known."""
    env = context.env or {}
    in_force: dict[str, str | None] = {}
    for flag, (variable, allowed) in _CHOICES.items():
        path = (
            f"flags.{flag}"
            if flag in ("migStrategy", "deviceDiscoveryStrategy")
            else f"flags.plugin.{flag}"
        )
        written = cast("str | None", config.flags.get(flag))
        value = mig_strategy(context) if flag == "migStrategy" else env.get(variable)
        differs = value is not None and written is not None and value != written
        if flag == "migStrategy" and written == "none" and not env.get(variable):
            # NVIDIA's own examples of time-slicing write none next to the chart's default, which
            # changes nothing on a GPU without MIG.
            differs = differs and written_strategy(context) is not None
        if differs:
            report.say(
                "device-plugin-env-wins",
                path,
                fix=f"write {value}, or set {variable} to {written}"
                + (" (`mig.strategy` of the GPU Operator)" if flag == "migStrategy" else ""),
                value=written,
                env=value,
                variable=variable,
            )
        chosen = value if value is not None else written
        in_force[flag] = chosen
        if chosen is not None and chosen not in allowed:
            report.say(
                "device-plugin-choice-unknown/flag",
                path if value is None else f"context.env.{variable}",
                fix=nearest_fix(chosen, allowed),
                value=chosen,
                allowed=allowed,
                flag=flag,
                chosen=shown(chosen),
            )
    _validate_list_strategy(config, env.get("DEVICE_LIST_STRATEGY"), report)
    return in_force["migStrategy"]


def _validate_list_strategy(config: PluginDocument, env: str | None, report: CheckReport) -> None:
    written: Any = config.flags.get("deviceListStrategy")
    if env is not None:
        chosen = env.split(",")
    elif isinstance(written, list):
        chosen = [str(item or "") for item in cast("list[Any]", written)]
    else:
        chosen = [] if written is None else [str(written)]
    for item in chosen:
        if item not in _LIST_STRATEGIES:
            report.say(
                "device-plugin-choice-unknown/list",
                "flags.plugin.deviceListStrategy",
                fix=nearest_fix(item, _LIST_STRATEGIES),
                value=item,
                allowed=_LIST_STRATEGIES,
            )


def _validate_mps(
    config: PluginDocument,
    mps: SharingBlock,
    strategy: str | None,
    context: Site,
    report: CheckReport,
) -> None:
    plugin, gpu, layouts = context.release_of(CHART), context.gpu, context.layouts
    report.apply(
        "mps",
        config=config,
        mps=mps,
        plugin=f"{plugin}",
        gpu=gpu,
        known=context.env is not None,
        mixed=not allows_mps(strategy),
        at=plugin.at,
        has_root=_mps_root(config, context),
        partitioned=context.labelled_profile is not None
        or any(layout is not None for layout in layouts or ()),
        may_be_mig=strategy == "single" and layouts is None and (gpu is None or gpu.has_mig),
        most=MPS_LIMIT if gpu is None else gpu.mps_max_clients,
    )


def _mps_root(config: PluginDocument, context: Site) -> bool:
    if context.env is not None and "MPS_ROOT" in context.env:
        return bool(context.env["MPS_ROOT"])
    if config.flags.get("mpsRoot"):
        return True
    return any(one.name in MPS_ROOT_CHARTS for one in context.programs)


def _validate_offered(
    block: SharingBlock, strategy: str | None, context: Site, report: CheckReport
) -> None:
    """Shared resources that the node does not have are skipped silently."""
    skipped: list[tuple[str, str, str]] = []
    for name, _, path in block.resources:
        why = _why_not_offered(name, strategy, context)
        if why:
            skipped.append((name, path, why))
        elif name != GPU_RESOURCE and strategy is None and context.layouts is None:
            report.say("device-plugin-resource-needs-mixed", f"{path}.name", name=name)
    code = "device-plugin-resource-not-offered" if len(skipped) == len(block.resources) else None
    for name, path, why in skipped:
        report.say(
            "device-plugin-resource-skipped",
            f"{path}.name",
            code=code,
            fix=_offer_fix(strategy, context),
            value=name,
            why=why,
        )


def _why_not_offered(name: str, strategy: str | None, context: Site) -> str | None:
    if context.layouts is not None:
        there = offered(context.layouts, strategy or "none")
        has = ", ".join(there) or "nothing"
        return None if name in there else f"under {strategy or 'none'} this node offers {has}"
    if name == GPU_RESOURCE:
        return None
    profile = name.removeprefix("nvidia.com/mig-")
    if profile == name:
        return "the plugin offers nvidia.com/gpu and, under mixed, nvidia.com/mig-<profile>"
    if strategy in ("none", "single"):
        return f"under {strategy} there are no nvidia.com/mig-... resources"
    gpu = context.gpu
    if gpu is None:
        spelt = profile_is_valid(profile.replace(".me", "+me").replace(".gfx", "+gfx"))
        return None if spelt else f"{profile} is not an MIG profile"
    if not gpu.has_mig:
        return f"{gpu.key} has no MIG"
    names = set(gpu.mig_published)
    if gpu.mig is not None:
        names = {*gpu.mig.profiles, *gpu.mig.alternate_names}
    if not names or name in {mig_resource(own) for own in names}:
        return None
    return f"{gpu.key} has no profile {profile}"


def _offer_fix(strategy: str | None, context: Site) -> str:
    if context.layouts is not None:
        return f"one of {', '.join(offered(context.layouts, strategy or 'none'))}"
    if strategy == "single":
        return "write `nvidia.com/gpu`, the name of MIG devices under single, or use mixed"
    return "write `nvidia.com/gpu`, or a resource of this GPU under `migStrategy: mixed`"


def _advertised(config: PluginDocument, strategy: str, context: Site) -> AdvertisedByConfig | None:
    layouts = context.layouts
    if layouts is None:
        if context.gpu_count is None or context.labelled_profile is not None:
            return None
        block = config.mps or config.time_slicing
        if block is not None and any(name != GPU_RESOURCE for name in block.replicas):
            return None  # it is meant for MIG devices, and the layout of the GPUs is not known
        layouts = (None,) * context.gpu_count
    shared = NodeSharing()
    if config.mps is not None:
        shared = NodeSharing("mps", config.mps.rename, config.mps.replicas)
    elif config.time_slicing is not None:
        slicing = config.time_slicing
        shared = NodeSharing("time-slicing", slicing.rename, slicing.replicas)
    return advertise(layouts, strategy, shared, context.bare_product, context.gpu)


# Values that the device plugin's own chart refuses, if the context names that chart.

CHART = "nvidia-device-plugin"
MPS_ROOT_CHARTS = (CHART, "gpu-operator")
"""Charts that set MPS_ROOT to /run/nvidia/mps."""
_FALLBACKS = ["named", "single"]
"""The chart's own `config.fallbackStrategies`."""


def validate_chart(context: Site, report: CheckReport) -> None:
    """Rules of the chart nvidia-device-plugin (v0.20.0) over its values and namespace."""
    chart = context.chart
    if chart is None or (chart.name is not None and chart.name != CHART):
        return
    report.apply("chart", chart=chart)
    config = as_mapping(chart.value("config"))
    if config is None:
        return
    keys = list(as_mapping(config.get("map")) or {})
    report.apply("chart config", config=config, keys=keys)
    if keys and not config.get("default") and not _falls_back(config):
        report.add(
            "device-plugin-chart-no-default",
            "context.chart.values.config.default",
            f"config.map has the {'keys' if len(keys) > 1 else 'key'} {', '.join(keys)}, there is "
            "no config.default, and no fallback applies",
            f"one of {', '.join(keys)}",
            keys=tuple(keys),
        )


def default_config(config: Mapping[str, Any]) -> str | None:
    """The key of `config.map` for nodes without a label: `config.default`, or the chart's own
    choice (templates/_helpers.tpl, hasDefaultConfig); None if there is none."""
    keys = list(as_mapping(config.get("map")) or {})
    default: Any = config.get("default")
    if default:
        return default if isinstance(default, str) else None
    fallbacks = as_list(config.get("fallbackStrategies", _FALLBACKS)) or []
    if "named" in fallbacks and "default" in keys:
        return "default"
    return keys[0] if "single" in fallbacks and len(keys) == 1 else None


def _falls_back(config: Mapping[str, Any]) -> bool:
    """Whether the chart needs no `config.default`."""
    fallbacks = as_list(config.get("fallbackStrategies", _FALLBACKS)) or []
    return "empty" in fallbacks or default_config(config) is not None
