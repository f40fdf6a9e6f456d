"""Inputs of components: what restates `gpufleet.spec.chart_components`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.addons import ChartsArgs


class NimOperatorArgs(TypedDict):
    """Inputs of `NimOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class KedaArgs(TypedDict):
    """Inputs of `Keda`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    watched: NotRequired[bool]
    """Whether its own metrics get ServiceMonitors; the cluster must then have that definition.
    Default false."""


class OperandTolerationArgs(TypedDict):
    """A taint that the operands tolerate with any value."""

    key: str
    """Key of the taint."""
    effect: str
    """Effect of the taint, `NoSchedule` or `NoExecute`."""


class NeuronDevicePluginArgs(TypedDict):
    """Inputs of `NeuronDevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    scheduler: NotRequired[bool]
    """Run the scheduler extension, which places pods on adjacent devices; they name it as
    `schedulerName`. Default false."""
    node_problem_detector: NotRequired[bool]
    """Monitor errors of the devices. Default true, as in the chart."""
    node_recovery: NotRequired[bool]
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints tolerated with any value, in addition to `aws.amazon.com/neuron`. Default: none."""
    instance_types: NotRequired[list[str]]
    """Instance types of its nodes. Default: the chart's own list, which lacks newer types."""


class EfaDevicePluginArgs(TypedDict):
    """Inputs of `EfaDevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    instance_types: list[str]
    """Instance types of its nodes; the chart's own list lacks newer types."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints that it tolerates with any value, in addition to `nvidia.com/gpu`. Default: none."""
