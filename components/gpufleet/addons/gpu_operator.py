"""GpuOperator: the NVIDIA GPU Operator chart with typed values."""

from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

import pulumi
import pulumi_kubernetes as kubernetes
from pydantic import Field

from gpufleet.arguments import ChartsArgs
from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.catalogue.model import Chart
from gpufleet.findings import error
from gpufleet.inputs import checked, refuse
from gpufleet.render.gpu_operator_values import OperatorSettings, merged, operator_values
from gpufleet.spec.addons import Charts

TIMEOUT_SECONDS = 600
"""How long the release may take to become ready: pulling the operator's images, not the driver."""


class OperandTolerationArgs(TypedDict):
    """A taint, with any value, that does not keep the operands away."""

    key: str
    """Key of the taint."""
    effect: str
    """Effect of the taint, `NoSchedule` or `NoExecute`."""


class GpuOperatorArgs(TypedDict):
    """Inputs of `GpuOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version, `v26.7.0`. Default: the catalogue's pin."""
    namespace: NotRequired[pulumi.Input[str]]
    """Namespace, which must exist and admit privileged pods. Default: `gpu-operator`."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    driver: NotRequired[bool]
    """Install the GPU driver. Default true; false where the node image brings it."""
    driver_version: NotRequired[str]
    """Driver version. Default: the chart's own."""
    toolkit: NotRequired[bool]
    """Install the container toolkit. Default true; false where the node image brings it."""
    device_plugin: NotRequired[bool]
    """Run the device plugin. Default true."""
    device_plugin_config: NotRequired[pulumi.Input[str]]
    """Name of the ConfigMap with device-plugin configurations. Default: none."""
    device_plugin_default: NotRequired[str]
    """Key of the device-plugin ConfigMap for nodes that choose none. Default: none is applied."""
    mig_manager: NotRequired[bool]
    """Run mig-manager. Default true."""
    mig_config: NotRequired[pulumi.Input[str]]
    """Name of the ConfigMap with mig-parted configurations. Default: the operator generates one
    for each node."""
    mig_manager_env: NotRequired[dict[str, str]]
    """Environment of mig-manager, such as `WITH_REBOOT`. Default: none."""
    mig_strategy: NotRequired[str]
    """One of `single`, `mixed`: how MIG devices are named, for the whole cluster. Default: MIG
    devices are not advertised."""
    dcgm_exporter: NotRequired[bool]
    """Export GPU metrics. Default true."""
    node_feature_discovery: NotRequired[bool]
    """Run Node Feature Discovery. Default true; false where the cluster already has it."""
    image_pull_secret: NotRequired[str]
    """Secret for NVIDIA's registry, in the operator's namespace. Default: none."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints that operands and Node Feature Discovery tolerate with any value, beside
    `nvidia.com/gpu`. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(OperatorSettings):
    """The arguments that must be known before deployment."""

    catalogue: str
    version: str | None = None
    charts: Charts = Field(default_factory=Charts)


class GpuOperator(pulumi.ComponentResource):
    """NVIDIA GPU Operator: one Helm release, pinned, with typed values.

    One per cluster. The namespace and the ConfigMaps it names must exist before; `GpuAddons` sees
    to both.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(
        self, name: str, args: GpuOperatorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the chart.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'GpuOperator "{name}"'
        settings = checked(component, GpuOperatorArgs, cast("dict[str, Any]", args), _Declared)
        pin = _pin(component, settings.catalogue)
        wiring: dict[str, Any] = {
            section: {"config": {"name": args[key]}}
            for section, key in (
                ("devicePlugin", "device_plugin_config"),
                ("migManager", "mig_config"),
            )
            if key in args
        }
        values = merged(merged(operator_values(settings), wiring), args.get("values", {}))
        version = settings.version or pin.version
        super().__init__("gpufleet:index:GpuOperator", name, {}, opts)
        made = kubernetes.helm.v3.Release(
            f"{name}-release",
            name=pin.name,
            namespace=args.get("namespace", pin.namespace),
            version=version,
            values=values,
            timeout=TIMEOUT_SECONDS,
            **chart_location(pin, settings.charts),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.release_name = cast("pulumi.Output[str]", made.name)
        self.chart_version = pulumi.Output.from_input(version)
        self.register_outputs(
            {"releaseName": self.release_name, "chartVersion": self.chart_version}
        )


def chart_location(pin: Chart, charts: Charts) -> dict[str, Any]:
    """Arguments of a Release that say where its chart is: repository, OCI registry or folder."""
    source = charts.source
    if source is None or source.repository is not None:
        address = pin.repository if source is None else source.repository
        return {"chart": pin.name, "repository_opts": {"repo": address}}
    if source.oci is not None:
        return {"chart": f"{source.oci.rstrip('/')}/{pin.name}"}
    assert source.folder is not None
    return {"chart": str(Path(source.folder) / pin.name)}


def _pin(component: str, edition: str) -> Chart:
    try:
        return load(edition).chart("gpu-operator")
    except UnknownKeyError as unknown:
        refuse(component, [error("catalogue-edition-unknown", "catalogue", str(unknown))])
