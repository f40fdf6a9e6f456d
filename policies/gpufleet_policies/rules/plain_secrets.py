"""Credentials that are written into workloads."""

from collections.abc import Iterator

from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.written import written_rule


@written_rule("gpu-workload-plain-secret")
def plain_secret(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Tokens of known forms, options such as `--token=` with a value, and addresses with a
    password, such as those of proxies. No message repeats the value."""
    for _, container in workload.gpu_containers:
        for place, kind in container.plain_secrets:
            yield plain_secret.say(container=container, place=place, kind=kind)
