"""Inputs of components that install one chart and are wired to nothing."""

from typing import Any

from pydantic import Field

from gpufleet.spec.addons import Charts
from gpufleet.spec.base import SpecModel


class OperandToleration(SpecModel):
    """A taint, with any value, that does not keep the operands away."""

    key: str
    """Key of the taint."""
    effect: str
    """Effect of the taint, `NoSchedule` or `NoExecute`."""


class ChartChoice(SpecModel):
    """The arguments by which every add-on of one chart chooses it."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: str | None = None
    """Chart version. Default: the catalogue's pin."""
    charts: Charts = Field(default_factory=Charts)
    """Where the chart comes from. Default: the vendor's repository."""


class ChartWithValues(ChartChoice):
    """The same, and values of the chart."""

    values: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw Helm values, merged last. Default: none."""


class DeclaredNimOperator(ChartWithValues):
    """Inputs of `NimOperator`."""


class DeclaredKeda(ChartWithValues):
    """Inputs of `Keda`."""

    watched: bool = False
    """Whether its own metrics get ServiceMonitors, whose definition must then be in the cluster.
    Default false."""


class DeclaredNeuronPlugin(ChartWithValues):
    """Inputs of `NeuronDevicePlugin`."""

    scheduler: bool = False
    """Run the scheduler extension, which puts pods on neighbouring devices; they name it as
    `schedulerName`. Default false."""
    node_problem_detector: bool = True
    """Watch the devices' errors. Default true, as the chart has it."""
    node_recovery: bool = False
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints tolerated with any value, next to `aws.amazon.com/neuron`. Default: none."""
    instance_types: tuple[str, ...] = ()
    """Instance types of the nodes it runs on. Default: the chart's own list, which ends before
    newer ones."""


class DeclaredEfaPlugin(ChartWithValues):
    """Inputs of `EfaDevicePlugin`."""

    instance_types: tuple[str, ...] = Field(min_length=1)
    """Instance types of the nodes it runs on; the chart's own list ends before newer ones."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints it tolerates with any value, next to `nvidia.com/gpu`. Default: none."""
