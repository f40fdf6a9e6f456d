"""Two objects of NVIDIA's software that do not work together: a chart's values and what is made
for it."""

from collections.abc import Iterator

from gpufleet.catalogue.features import numbers
from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.cluster.program import Program
from gpufleet.contract.relation import DRA_DRIVER, GPU_OPERATOR
from gpufleet.documents.paths import text_at
from gpufleet.findings import Finding, finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.written import written_rule

_DEFAULT_BESIDE_OTHERS = (26, 7)
"""First release whose default NVIDIADriver leaves nodes to others (NVIDIA/gpu-operator#2355)."""


def _declared(context: RuleContext, kind: str) -> list[NvidiaConfig]:
    return [
        one
        for one in context.declared(NvidiaConfig)
        if one.document is not None and one.document.get("kind") == kind
    ]


@written_rule("compute-domain-without-plugin", Program)
def domain_without_plugin(context: RuleContext, program: Program) -> Iterator[Finding]:
    """`resources.computeDomains.enabled: false` leaves the kubelet plugin of channels out."""
    path = "resources.computeDomains.enabled"
    if program.name != DRA_DRIVER or program.switch(path, True).found is not False:
        return
    domains = _declared(context, "ComputeDomain")
    if domains:
        yield finding(
            where=program.field(path),
            found=f"{path} is false, and {domains[0].locator} is declared",
            alternative=f"write {path}: true, or remove the ComputeDomain",
        )


@written_rule("default-driver-takes-all-nodes", Program)
def default_driver(context: RuleContext, program: Program) -> Iterator[Finding]:
    """The chart makes it with `driver.nvidiaDriverCRD.enabled`, unless `deployDefaultCR` is false;
    the release is known."""
    key = "driver.nvidiaDriverCRD"
    release = numbers(program.release.value) if program.release.is_known else None
    if program.name != GPU_OPERATOR or release is None or release[:2] >= _DEFAULT_BESIDE_OTHERS:
        return
    made = program.switch(f"{key}.deployDefaultCR", True).found is True
    if not made or program.switch(f"{key}.enabled", False).found is not True:
        return
    for one in _declared(context, "NVIDIADriver"):
        if text_at(one.document or {}, "metadata.name") != "default":
            yield finding(
                where=program.field(f"{key}.deployDefaultCR"),
                found=f"the chart makes an NVIDIADriver for all nodes, and {one.locator} is "
                "declared too",
                limit=f"before v26.7.0 the operator refuses both, and {program.release.value} is "
                "installed",
                alternative=f"write {key}.deployDefaultCR: false",
            )
            return


@written_rule("runtime-class-of-operator-gone")
def runtime_class(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Another program, such as k3s, may make the class: advice."""
    for program in context.declared(Program):
        on = program.name == GPU_OPERATOR
        if not on or program.switch("cdi.nriPluginEnabled", False).found is not True:
            continue
        for group in workload.running_groups():
            if group.runtime_class.found == "nvidia" and group.gpu_resources:
                yield finding(
                    where=group.runtime_class.place,
                    found=f"asks for the RuntimeClass nvidia, and {program.locator} has "
                    "cdi.nriPluginEnabled",
                )
        return
