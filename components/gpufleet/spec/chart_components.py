"""Inputs of components that install one chart and need no connection."""

from typing import Any

from pydantic import Field

from gpufleet.spec.addons import Charts
from gpufleet.spec.base import Release, SpecModel


class OperandToleration(SpecModel):
    """A taint that the operands tolerate with any value."""

    key: str
    """Key of the taint."""
    effect: str
    """Effect of the taint, `NoSchedule` or `NoExecute`."""


class ChartChoice(SpecModel):
    """Arguments that select the chart of every single-chart add-on."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: Release | None = None
    """Chart version. Default: the catalogue's pin."""
    charts: Charts = Field(default_factory=Charts)
    """Source of the chart. Default: the vendor's repository."""


class ChartWithValues(ChartChoice):
    """The same, and values of the chart."""

    values: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw Helm values, merged last. Default: none."""


class DeclaredNimOperator(ChartWithValues):
    """Inputs of `NimOperator`."""


class DeclaredKeda(ChartWithValues):
    """Inputs of `Keda`."""

    watched: bool = False
    """Whether its own metrics get ServiceMonitors; the cluster must then have that definition.
    Default false."""


class DeclaredNeuronPlugin(ChartWithValues):
    """Inputs of `NeuronDevicePlugin`."""

    scheduler: bool = False
    """Run the scheduler extension, which places pods on adjacent devices; they name it as
    `schedulerName`. Default false."""
    node_problem_detector: bool = True
    """Monitor errors of the devices. Default true, as in the chart."""
    node_recovery: bool = False
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints tolerated with any value, in addition to `aws.amazon.com/neuron`. Default: none."""
    instance_types: tuple[str, ...] = ()
    """Instance types of its nodes. Default: the chart's own list, which lacks newer
    types."""


class DeclaredEfaPlugin(ChartWithValues):
    """Inputs of `EfaDevicePlugin`."""

    instance_types: tuple[str, ...] = Field(min_length=1)
    """Instance types of its nodes; the chart's own list lacks newer types."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints that it tolerates with any value, in addition to `nvidia.com/gpu`. Default: none."""
