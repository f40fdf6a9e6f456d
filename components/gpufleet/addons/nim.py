"""NimOperator: NVIDIA's NIM operator by its chart. NimService: one NIM, cached before it serves."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpufleet.arguments import NimOperatorArgs, NimServiceArgs
from gpufleet.components_base.charts import chosen_chart
from gpufleet.components_base.cluster_objects import ManifestObject, awaited
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan
from gpufleet.render.nim import nim_cache, nim_service, validate_nim
from gpufleet.spec.chart_components import DeclaredNimOperator
from gpufleet.spec.components import DeclaredNimService
from gpufleet.spec.nim import Nim

CHART = "k8s-nim-operator"
READY = "jsonpath={.status.state}=Ready"
CACHE_TIMEOUT_SECONDS = 7200
"""Timeout for downloading and building the model."""


@dataclass(frozen=True, kw_only=True)
class NimServicePlan(ComponentPlan):
    """One NIM, validated."""

    nim: Nim


class NimService(GpuComponent[NimServicePlan]):
    """A NIMCache, and after the model is cached, the NIMService that reads it.

    The cluster must have the NIM operator, and the namespace both Secrets; they are named here
    and never contained.
    """

    endpoint: pulumi.Output[str]
    """Address inside the cluster: `http://<name>.<namespace>.svc:<port>`."""

    def __init__(self, name: str, args: NimServiceArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: NimServicePlan) -> Mapping[str, object]:
        nim = plan.nim
        cache = nim_cache(nim)
        cache["metadata"]["annotations"] = {"pulumi.com/waitFor": READY}
        opts = awaited(self, f"{CACHE_TIMEOUT_SECONDS}s")
        cached = ManifestObject(f"{name}-cache", cache, opts)
        after = pulumi.ResourceOptions(parent=self, depends_on=[cached])
        ManifestObject(f"{name}-service", nim_service(nim), after)
        return {"endpoint": f"http://{nim.name}.{nim.namespace}.svc:{nim.port}"}


def _planned(component: str, args: NimServiceArgs) -> NimServicePlan:
    nim = checked(component, NimServiceArgs, args, DeclaredNimService).nim
    warnings = accepted(component, validate_nim(nim))
    return NimServicePlan(nim=nim, warnings=warnings)


class NimOperator(ChartInOwnNamespace):
    """NVIDIA NIM operator: namespace and Helm release, pinned. One per cluster."""

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""

    def __init__(self, name: str, args: NimOperatorArgs, opts: Options = None) -> None:
        self._construct(name, _operator_plan(self.label(name), args), opts)


def _operator_plan(component: str, args: NimOperatorArgs) -> ReleasePlan:
    given = checked(component, NimOperatorArgs, args, DeclaredNimOperator)
    chart = chosen_chart(component, given, CHART)
    return ReleasePlan(chart=chart, values=given.values)
