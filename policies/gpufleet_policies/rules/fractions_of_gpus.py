"""Fractions of GPUs by annotation, as KAI's scheduler shares them."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.findings.remediation import remove
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.reading import decimal
from gpufleet_policies.rules.gpu_requests import written_amounts
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.written import written_rule

FRACTIONS = ("gpu-fraction", "gpu-memory")
"""Annotations by which KAI's scheduler shares a GPU."""


@written_rule("fraction-with-whole-gpu")
def fraction_and_whole(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """KAI's annotations `gpu-fraction` and `gpu-memory`; its scheduler refuses the pod."""
    written = [name for name in FRACTIONS if name in workload.annotations]
    if not written:
        return
    said = " and ".join(f"annotation {name}" for name in written)
    holders = [
        (group, container)
        for group, container in workload.gpu_containers
        if GPU in container.gpu_resources
    ]
    if len(written) > 1 and not holders:
        yield fraction_and_whole.say(written=written, said=said)
    for group, container in holders:
        part = _part_of_gpu(workload.annotations.get(FRACTIONS[0]))
        place = container.resources_place
        yield fraction_and_whole.say(
            case="both",
            container=container,
            place=place or container.place,
            said=said,
            written=written,
            alternative=fraction_and_whole.instead(),
            money=held(context, workload, group, 1 - part) if part is not None else None,
            remediation=tuple(remove(*one) for one in written_amounts(container, (GPU,))),
        )


def _part_of_gpu(text: str | None) -> Fraction | None:
    part = decimal(text)
    return Fraction(part) if part is not None and 0 < part < 1 else None
