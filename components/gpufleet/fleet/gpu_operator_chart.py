"""Values of the GPU Operator chart from typed settings.

The chart has no values schema: a misspelt key is not reported, so typed settings are preferred.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from gpufleet.contract.hardened import DRIVER_IMAGE, DRIVER_VERSION
from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.documents.data_files import data_part
from gpufleet.fleet.chart_values import Values, environment, merged, nested
from gpufleet.fleet.config_names import ALL_DISABLED, DEFAULT_PLUGIN_CONFIG, DRA_LABEL
from gpufleet.fleet.image_sources import proxy_environment
from gpufleet.fleet.model import OperatorPlan
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import OneInput, SpecModel
from gpufleet.spec.chart_components import ChartWithValues, OperandToleration
from gpufleet.spec.gpu_operator import GpuOperatorSettings
from gpufleet.spec.gpu_operator_keys import typed_settings
from gpufleet.spec.images import Images
from gpufleet.spec.network_operator import Ofed
from gpufleet.spec.sharing import MigStrategy

EVICTS_CLAIMS = [{"name": "NODE_LABEL_FOR_GPU_POD_EVICTION", "value": DRA_LABEL}]
"""The driver manager pauses this label before it unloads the driver. Without it the DRA driver's
plugin keeps the old modules in use (NVIDIA, DRA driver with the GPU Operator, known issues;
NVIDIA/k8s-driver-manager `evictAllGPUOperatorComponents`)."""

_FILE = Path(__file__).with_suffix("")


class DeclaredOperator(SpecModel):
    """Values of the GPU Operator's chart in typed form."""

    settings: GpuOperatorSettings = Field(default_factory=GpuOperatorSettings)
    """The parts that it runs. Default: as in the chart."""
    mig_strategy: MigStrategy | None = None
    """How MIG devices are named, for the whole cluster. Default: they are not advertised."""
    device_plugin_default: str = ""
    """Key of the device-plugin ConfigMap for nodes without a label. Default: none is applied."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints that operands and Node Feature Discovery tolerate with any value, in addition to
    `nvidia.com/gpu`. Default: none."""
    images: Images = Field(default_factory=Images)
    """Sources of images, and the proxy. Default: the vendors' registries."""
    separate_drivers: bool = False
    """Whether NVIDIADriver objects of others install the driver. Default false."""


class OperatorSettings(DeclaredOperator):
    """All of them, with what only a fleet knows."""

    claims: bool = False
    """Whether the DRA driver serves nodes with the operator's driver. Default false."""
    claim_gates: tuple[str, ...] = ()
    """Feature gates of the DRA driver that pools need, if a GPUCluster runs it. Default: none."""


class DeclaredGpuOperator(DeclaredOperator, ChartWithValues):
    """Inputs of `GpuOperator`."""

    namespace: OneInput = None
    """Namespace, which must exist and admit privileged pods. Default: `gpu-operator`."""
    device_plugin_config: OneInput = None
    """Name of the ConfigMap with device-plugin configurations. Default: none."""
    mig_config: OneInput = None
    """Name of the ConfigMap with mig-parted configurations. Default: the operator generates one
    for each node."""


def operator_values(asked: OperatorSettings, extra: Mapping[str, Any] | None = None) -> Values:
    """The values, without the names of ConfigMaps; `extra` is merged last, mapping by mapping.

    Every switch is written, even if it equals the chart's default: a changed default of a later
    chart must not change a fleet. Other values are written only where they are declared.
    """
    values: Values = data_part(
        _FILE,
        "values",
        strategy=asked.mig_strategy.value if asked.mig_strategy else "none",
        plugin_config=asked.device_plugin_default,
        all_disabled=ALL_DISABLED,
    )
    values = merged(values, _declared(asked))
    values = merged(values, _tolerations(asked.tolerations))
    if asked.separate_drivers:
        values = merged(values, data_part(_FILE, "separateDrivers"))
    if asked.settings.gpu_cluster:
        gates = dict.fromkeys(asked.claim_gates, True)
        values = merged(values, data_part(_FILE, "gpuCluster", gates=gates))
    if asked.claims and values["driver"]["enabled"]:
        values = merged(values, {"driver": {"manager": {"env": EVICTS_CLAIMS}}})
    if (secret := asked.settings.image_pull_secret) is not None:
        values = merged(values, data_part(_FILE, "pullSecret", secret=secret))
    return merged(values, extra or {})


def _declared(asked: OperatorSettings) -> Values:
    settings = asked.settings
    pairs: dict[str, Any] = {}
    for _, key, value in typed_settings(settings, written=True):
        pairs[key] = environment(value) if key.endswith(".env") else value
    unavailable = pairs.get("driver.upgradePolicy.maxUnavailable", "%")
    if unavailable.isdigit():
        # As text it would be read as a percentage without its sign.
        pairs["driver.upgradePolicy.maxUnavailable"] = int(unavailable)
    if asked.images.profile is not None and settings.driver.enabled is not False:
        pairs = {"driver.image": DRIVER_IMAGE, "driver.version": DRIVER_VERSION} | pairs
    proxy = proxy_environment(asked.images.proxy)
    if proxy:
        pairs["driver.env"] = environment({**proxy, **settings.driver.env})
    if settings.driver.licensing is not None:
        # The chart's default is true, and the operator's code reads an absent value as false.
        pairs["driver.licensingConfig.nlsEnabled"] = True
    return nested(pairs.items())


def _tolerations(tolerations: tuple[OperandToleration, ...]) -> Values:
    if not tolerations:
        return {}
    ours = [{"key": t.key, "operator": "Exists", "effect": t.effect} for t in tolerations]
    operands = [GPU_TOLERATION.as_dict(), *ours]
    worker = [data_part(_FILE, "controlPlane"), *operands]
    return data_part(_FILE, "tolerations", operands=operands, worker=worker)


def planned_settings(addons: Addons, plan: OperatorPlan) -> OperatorSettings:
    """The operator settings of a declaration, with the requirements of its pools."""
    declared = addons.gpu_operator.model_dump(
        mode="json", by_alias=True, exclude_unset=True, exclude_none=True
    )
    for addon_field in ("enabled", "ownership", "version", "values"):
        declared.pop(addon_field, None)
    implied: Values = {
        "driver": {"enabled": plan.driver},
        "toolkit": {"enabled": plan.toolkit},
        "devicePlugin": {"enabled": plan.device_plugin},
        "migManager": {"enabled": plan.mig_manager}
        | ({"env": dict(plan.mig_env)} if plan.mig_env else {}),
        "dcgmExporter": {"enabled": plan.dcgm_exporter},
        "nodeFeatureDiscovery": {"enabled": plan.node_feature_discovery},
    }
    if plan.license_secret is not None and addons.gpu_operator.driver.licensing is None:
        implied["driver"]["licensing"] = {"secret": plan.license_secret}
    operator = addons.gpu_operator
    if plan.driver_root is not None:
        if operator.driver.install_dir is None:
            implied["driver"]["installDir"] = plan.driver_root
        if operator.toolkit.install_dir is None:
            implied["toolkit"]["installDir"] = plan.driver_root
    if plan.toolkit_env:
        implied["toolkit"]["env"] = {**plan.toolkit_env, **operator.toolkit.env}
    rdma = addons.gpu_operator.driver.rdma
    if rdma.enabled and rdma.use_host_mofed is None and addons.network_operator.ofed is Ofed.HOST:
        implied["driver"]["rdma"] = {"useHostMofed": True}
    asked: Values = {
        "settings": merged(declared, implied),
        "migStrategy": None if plan.mig_strategy == "none" else plan.mig_strategy,
        "devicePluginDefault": DEFAULT_PLUGIN_CONFIG,
        "tolerations": [{"key": t.key, "effect": t.effect} for t in plan.tolerations],
        "images": addons.images.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "separateDrivers": plan.separate_drivers,
    }
    return OperatorSettings.model_validate(asked)
