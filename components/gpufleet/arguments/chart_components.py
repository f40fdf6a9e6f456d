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
    """Where the chart comes from. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class KedaArgs(TypedDict):
    """Inputs of `Keda`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    watched: NotRequired[bool]
    """Whether its own metrics get ServiceMonitors, whose definition must then be in the cluster.
    Default false."""


class OperandTolerationArgs(TypedDict):
    """A taint, with any value, that does not keep the operands away."""

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
    """Where the chart comes from. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    scheduler: NotRequired[bool]
    """Run the scheduler extension, which puts pods on neighbouring devices; they name it as
    `schedulerName`. Default false."""
    node_problem_detector: NotRequired[bool]
    """Watch the devices' errors. Default true, as the chart has it."""
    node_recovery: NotRequired[bool]
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints tolerated with any value, next to `aws.amazon.com/neuron`. Default: none."""
    instance_types: NotRequired[list[str]]
    """Instance types of the nodes it runs on. Default: the chart's own list, which ends before
    newer ones."""


class EfaDevicePluginArgs(TypedDict):
    """Inputs of `EfaDevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    instance_types: list[str]
    """Instance types of the nodes it runs on; the chart's own list ends before newer ones."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints it tolerates with any value, next to `nvidia.com/gpu`. Default: none."""
