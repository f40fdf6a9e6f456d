"""Pod templates of jobs: batch, JobSet, Kubeflow, Volcano, Argo."""

from collections.abc import Callable
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, known, unknown
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet_policies.readers.raw_pods import (
    Groups,
    RawContainer,
    RawGroup,
    count,
    name_of,
    natural,
    template,
    times,
    total_of,
)
from gpufleet_policies.readers.reading import at, fact

SOME: Fact[int] = unknown("pods")


def job(document: dict[str, Any]) -> Groups:
    """Job: the pods that run at a time."""
    pods = count(document, "spec.parallelism")
    most = fact(at(document, "spec.completions"), natural, "spec.completions")
    if pods.is_known and most.is_known and most.value < pods.value:
        pods = most  # never more pods at a time than completions are left
    indexed = at(document, "spec.completionMode") == "Indexed"
    yield template(document, "", "spec.template", pods, together=pods if indexed else known(1))


def job_set(path: str, is_template: bool = False) -> Callable[[dict[str, Any]], Groups]:
    """JobSet and its templates: several jobs under a path."""

    def groups(document: dict[str, Any]) -> Groups:
        found = items(at(document, path))
        numbers = [
            times(count(j, "replicas"), count(j, "template.spec.parallelism")) for j in found
        ]
        total = total_of(numbers)
        # Pods of a JobSet get names below its own, or below `network.subdomain`
        # (kubernetes-sigs/jobset, api/jobset/v1alpha2, Network).
        below = at(document, "spec.network.subdomain") or at(document, "metadata.name")
        for index, (job, pods) in enumerate(zip(found, numbers, strict=True)):
            yield template(
                job,
                name_of(job, "name", index),
                "template.spec.template",
                SOME if is_template else pods,
                f"{path}[{index}].",
                SOME if is_template else total,
                subdomain=None if is_template else below,
            )

    return groups


def by_role(path: str) -> Callable[[dict[str, Any]], Groups]:
    """Kubeflow: each role under a path has a template."""

    def groups(document: dict[str, Any]) -> Groups:
        # PyTorchJob alone has it: the operator hands it to torchrun as PET_NPROC_PER_NODE
        # (kubeflow/trainer, pkg/controller.v1/pytorch/envvar.go).
        stated = {"spreads": True, "processes": at(document, "spec.nprocPerNode")}
        roles = mapping(at(document, path))
        numbers = {role: count(spec, "replicas") for role, spec in roles.items()}
        total = total_of(list(numbers.values()))
        for role, spec in roles.items():
            yield template(spec, role, "template", numbers[role], f"{path}.{role}.", total, stated)

    return groups


_OF_RUNTIME = (
    *("nodeSelector", "affinity", "tolerations", "schedulerName", "priorityClassName"),
    "activeDeadlineSeconds",
)
"""Fields of pods that a training runtime may set: their absence proves nothing here."""


def train_job(document: dict[str, Any]) -> Groups:
    """TrainJob without its runtime: what it says of its trainer."""
    trainer = at(document, "spec.trainer")
    if not is_mapping(trainer):
        yield from job_set("spec.template.spec.replicatedJobs")(document)
        return
    nodes = count(document, "spec.trainer.numNodes")
    fields = {**trainer, "name": "node", "resources": trainer.get("resourcesPerNode")}
    container = RawContainer("spec.trainer", fields, "spec.trainer.resourcesPerNode")
    scheduling: dict[str, Any] = {}
    for override in items(at(document, "spec.podTemplateOverrides")):
        scheduling |= mapping(at(override, "spec"))
    # The pods of its runtime are not known: read with the runtime, a TrainJob has a template.
    spec: dict[str, Any] = {**dict.fromkeys(_OF_RUNTIME, UNKNOWN), **scheduling}
    processes = trainer.get("numProcPerNode")
    stated = {"spreads": True, "preset": True, "runtime": True, "processes": processes}
    yield RawGroup("", "spec.trainer", spec, nodes, None, nodes, (container,), stated)


def tasks(document: dict[str, Any]) -> Groups:
    """Volcano: each task has a template."""
    tasks = items(at(document, "spec.tasks"))
    numbers = [count(task, "replicas") for task in tasks]
    total = total_of(numbers)
    for index, (task, pods) in enumerate(zip(tasks, numbers, strict=True)):
        prefix = f"spec.tasks[{index}]."
        yield template(task, name_of(task, "name", index), "template", pods, prefix, total)


def workflow(path: str, is_template: bool = False) -> Callable[[dict[str, Any]], Groups]:
    """Argo: each template with a container or script; the number of its pods is not known."""

    def groups(document: dict[str, Any]) -> Groups:
        shared = mapping(at(document, path))
        for index, step in enumerate(items(shared.get("templates"))):
            fields = mapping(step)
            place = f"{path}.templates[{index}]"
            found = tuple(
                RawContainer(f"{place}.{key}", {"name": key, **fields[key]})
                for key in ("container", "script")
                if is_mapping(fields.get(key))
            )
            if found:
                scheduling = {
                    key: fields.get(key, shared.get(key))
                    for key in ("nodeSelector", "affinity", "tolerations", "volumes")
                }
                name = name_of(step, "name", index)
                pods: Fact[int] = SOME if is_template else known(1)
                yield RawGroup(
                    name, place, scheduling, pods, fields.get("metadata"), containers=found
                )

    return groups
