"""GPU requests and limits of containers: what the API server, kubelet or device plugin refuses."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from gpufleet.cluster import Container, PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU, SHARED_SUFFIX, is_gpu_resource
from gpufleet.findings import Finding
from gpufleet.findings.remediation import JsonPatch, add, remove, replace
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.reading import decimal
from gpufleet_policies.rules.grants import shared_grants
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.placement import candidates
from gpufleet_policies.rules.written import written_rule


def _containers(workload: WorkloadFacts) -> Iterator[tuple[PodGroup, Container]]:
    for group in workload.pod_groups:
        for container in group.containers:
            if container.resources_known:
                yield group, container


def _where(container: Container) -> str:
    return f"container {container.name} ({container.resources_place or container.place})"


def _refusal(workload: WorkloadFacts) -> str:
    if workload.api_group == "helm.sh":
        return "the chart rounds it down to an integer, and below 1 the pod gets no GPU"
    if workload.template_checked_on_creation:
        return "the API server refuses such pods"
    return (
        f"nothing checks the template of a {workload.locator.kind}; its controller then "
        "never makes the pods"
    )


@written_rule("gpu-request-without-limit")
def request_without_limit(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Extended resources cannot be overcommitted: limit and request are one number."""
    for _, container in _containers(workload):
        for resource, amount in container.requests.items():
            if not is_gpu_resource(resource) or resource in container.limits:
                continue
            written = amount.value.text if amount.is_known else "the same amount"
            yield request_without_limit.say(
                _where(container),
                resource=resource,
                refusal=_refusal(workload),
                alternative=request_without_limit.instead(resource=resource, amount=written),
                remediation=_set_limit(container, resource, amount.value.text)
                if amount.is_known
                else (),
            )


@written_rule("gpu-request-differs-from-limit")
def request_differs(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Compared as quantities: `1`, `"1"` and `1000m` are equal."""
    for _, container in _containers(workload):
        for resource, request in container.requests.items():
            limit = container.limits.get(resource)
            if not is_gpu_resource(resource) or limit is None:
                continue
            if not (request.is_known and limit.is_known):
                continue
            if request.value.number == limit.value.number:
                continue
            yield request_differs.say(
                _where(container),
                request=request,
                resource=resource,
                bound=limit,
                refusal=_refusal(workload),
                alternative=request_differs.instead(resource=resource, limit=limit.value.text),
                remediation=(
                    replace(limit.value.text, container.resources_place, "requests", resource),
                )
                if container.resources_place
                else (),
            )


@written_rule("gpu-not-integer")
def not_integer(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Devices are counted in integers; fractions are separate resources."""
    for group, container in _containers(workload):
        for resource in container.gpu_resources:
            amount = container.gpus(resource)
            if not amount.is_known or amount.value.is_whole:
                continue
            yield not_integer.say(
                container=container,
                place=amount.place or container.place,
                amount=amount,
                resource=resource,
                refusal=_refusal(workload),
                alternative=_parts(context, group),
            )


def _set_limit(container: Container, resource: str, written: str) -> JsonPatch:
    place = container.resources_place
    if not place:
        return ()
    if container.limits:
        return (add(written, place, "limits", resource),)
    return (add({resource: written}, place, "limits"),)


def _parts(context: RuleContext, group: PodGroup) -> str:
    shares = {
        share.resource
        for pool in (candidates(context, group))
        for share in pool.shares
        if not share.is_whole_gpu
    }
    if shares:
        return f"request 1 of {', '.join(sorted(shares))}, which this fleet offers"
    return not_integer.instead()


@written_rule("shared-gpu-request-over-one")
def over_one_share(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """By the `.shared` name alone, or because every pool that can run it shares the GPU."""
    for group, container in workload.gpu_containers:
        asked_for = [
            (resource, amount)
            for resource in container.gpu_resources
            if (amount := container.gpus(resource)).is_known
            and amount.value.is_whole
            and amount.value.number > 1
        ]
        if not asked_for or not container.resources_known:
            continue
        shared = {one.grant.resource for one in shared_grants(context, group) if not one.adds_up}
        for resource, amount in asked_for:
            if not resource.endswith(SHARED_SUFFIX) and resource not in shared:
                continue
            asked = int(amount.value.number)
            total = group.pod_gpus(resource)
            money = None
            if total.is_known and total.value and len(group.gpu_resources) == 1:
                money = held(context, workload, group, Fraction(asked - 1, total.value))
            yield over_one_share.say(
                container=container,
                place=amount.place or container.place,
                asked=asked,
                resource=resource,
                alternative=over_one_share.instead(resource=resource),
                money=money,
                remediation=tuple(
                    replace("1", *place) for place in written_amounts(container, (resource,))
                ),
            )


def written_amounts(
    container: Container, resources: Iterable[str]
) -> Iterator[tuple[str, str, str]]:
    """Place of the resources of a container, `limits` or `requests`, and the name of each of these
    that is written there; none where no patch can address them."""
    place = container.resources_place
    for part, amounts in (("limits", container.limits), ("requests", container.requests)):
        yield from ((place, part, name) for name in resources if place and name in amounts)


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
