"""TrainJobs with their runtime: the pods that Kubeflow Trainer creates from both.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset/builder.go (`Trainer`): the job of the
step `trainer` gets the nodes, and its container `node` the settings of `spec.trainer`.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from gpufleet.cluster.subject import Subject
from gpufleet.documents.shapes import as_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.reading import amount, at

CLUSTER_RUNTIME = "ClusterTrainingRuntime"
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_GROUP = "scheduling.x-k8s.io/pod-group"
"""Label of pods that start together (pkg/runtime/framework/plugins/coscheduling)."""
_NODE = "node"
_PER_NODE = "PET_NPROC_PER_NODE"
_AMOUNTS = ("limits", "requests")
_OF_CONTAINER = ("image", "command", "args")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerObject(Subject):
    """A TrainJob or a runtime, which are read together."""

    document: dict[str, Any]

    @property
    def runtime(self) -> tuple[str, str, str]:
        """Kind, namespace and name of the runtime that a TrainJob names."""
        kind = str(at(self.document, "spec.runtimeRef.kind") or CLUSTER_RUNTIME)
        space = "" if kind == CLUSTER_RUNTIME else self.locator.namespace
        return kind, space, str(at(self.document, "spec.runtimeRef.name"))


def trainer_object(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """A TrainJob, TrainingRuntime or ClusterTrainingRuntime."""
    yield TrainerObject(locator=locator, document=document)


def with_runtime(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> dict[str, Any]:
    """A TrainJob as an object that holds the jobs of its runtime, with all that it changes."""
    trainer = mapping(at(job, "spec.trainer"))
    template = deepcopy(mapping(at(runtime, "spec.template")))
    policy = at(runtime, "spec.mlPolicy.numNodes")
    nodes = trainer.get("numNodes", 1 if policy is None else policy)
    for one in items(at(template, "spec.replicatedJobs")):
        pod = mapping(at(one, "template.spec.template.spec"))
        for name, patch in _patches(job):
            if name == at(one, "name"):
                pod.update(_changed(pod, patch))
        labels = mapping(at(one, "template.metadata.labels"))
        if labels.get(_STEP) != "trainer":
            continue
        mapping(at(one, "template.spec"))["parallelism"] = nodes
        if at(runtime, "spec.podGroupPolicy") is not None:
            metadata = mapping(at(one, "template.spec.template")).setdefault("metadata", {})
            mapping(metadata).setdefault("labels", {})[_GROUP] = at(job, "metadata.name")
        for container in items(pod.get("containers")):
            fields = as_mapping(container)
            if fields is not None and fields.get("name") == _NODE:
                fields.update({key: trainer[key] for key in _OF_CONTAINER if key in trainer})
                own = mapping(fields.get("resources"))
                more = mapping(trainer.get("resourcesPerNode"))
                both = {k: {**mapping(own.get(k)), **mapping(more.get(k))} for k in _AMOUNTS}
                fields["resources"] = {**own, **more, **both}
                processes = _processes(job, runtime, own, more)
                ours = [] if processes is None else [{"name": _PER_NODE, "value": processes}]
                fields["env"] = [*ours, *items(fields.get("env")), *items(trainer.get("env"))]
    spec = {key: value for key, value in mapping(job.get("spec")).items() if key != "trainer"}
    return {**job, "spec": {**spec, "template": template}}


def _processes(
    job: Mapping[str, Any],
    runtime: Mapping[str, Any],
    own: Mapping[str, Any],
    more: Mapping[str, Any],
) -> str | None:
    """Processes per node by the policy of torch: as written, and without a number, for a TrainJob
    with amounts and no GPU, its CPUs, at least one (pkg/runtime/framework/plugins/torch/torch.go,
    kubeflow/trainer#3974). None: one for each GPU, or another policy."""
    policy = at(runtime, "spec.mlPolicy.torch")
    written = at(job, "spec.trainer.numProcPerNode") or at(policy, "numProcPerNode")
    if policy is None or written is not None:
        return None if policy is None else str(written)
    asked, there = (
        {name: value for key in _AMOUNTS for name, value in mapping(one.get(key)).items()}
        for one in (more, own)
    )
    if not asked or any("/" in name for name in asked) or not any("/" in name for name in there):
        return None
    cpus = amount(asked.get("cpu", "1"))
    return None if cpus is None else str(max(1, int(cpus.number)))


def _patches(job: Mapping[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Names of jobs, and what is changed of their pods: until Trainer 2.1, and since."""
    for override in items(at(job, "spec.podTemplateOverrides")):
        for target in items(at(override, "targetJobs")):
            yield at(target, "name"), mapping(at(override, "spec"))
    for patch in items(at(job, "spec.runtimePatches")):
        for one in items(at(patch, "trainingRuntimeSpec.template.spec.replicatedJobs")):
            yield at(one, "name"), mapping(at(one, "template.spec.template.spec"))


def _changed(pod: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of an override to pods: lists are extended, mappings merged; containers stay."""
    return {
        key: [*items(pod.get(key)), *value]
        if isinstance(value, list)
        else {**mapping(pod.get(key)), **value}
        if isinstance(value, dict)
        else value
        for key, value in override.items()
        if key not in ("containers", "initContainers")
    }
