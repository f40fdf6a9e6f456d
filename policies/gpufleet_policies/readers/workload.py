"""A Kubernetes object as a Workload: every kind that makes pods, built in or custom."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.intent import WorkloadIntent
from gpufleet.cluster.pods import PodGroup
from gpufleet.cluster.workload import JobFacts, WorkloadFacts
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers import intent as intents
from gpufleet_policies.readers import scheduling
from gpufleet_policies.readers.containers import as_fragment, containers
from gpufleet_policies.readers.intent import ContainerProgram
from gpufleet_policies.readers.other_pods import UNKNOWN_KIND, has_gpu_pods
from gpufleet_policies.readers.pod_templates import KINDS
from gpufleet_policies.readers.raw_pods import JobFields, PodMakerKind, RawGroup, natural
from gpufleet_policies.readers.reading import amount, at, boolean, fact, text, whole

NODE_NAMESPACES = frozenset(
    {"kube-system", "gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin", "karpenter"}
)
"""Namespaces whose pods serve the nodes themselves."""


def workload_from(
    document: Mapping[str, Any],
    locator: Locator,
    api_group: str,
) -> WorkloadFacts | None:
    """The pods of an object; None when its kind creates none. For custom resources without a
    reader, pod templates with GPUs at any path.

    `document` is plain data with UNKNOWN where a value cannot be read; the catalogue is read only
    when a command line names a model.
    """
    kind = KINDS.get((api_group, locator.kind))
    if kind is not None:
        return read_workload(document, locator, api_group, kind)
    if "." not in api_group or api_group.endswith(".k8s.io") or not has_gpu_pods(dict(document)):
        return None
    return read_workload(document, locator, api_group, UNKNOWN_KIND)


def is_of_known_kind(workload: WorkloadFacts) -> bool:
    """Whether it is known what controllers make of its kind: a TrainJob changes its runtime."""
    if workload.api_group == "trainer.kubeflow.org" and workload.locator.kind != "TrainJob":
        return False
    if workload.api_group == "helm.sh":
        return True  # of a chart that is known
    is_custom = "." in workload.api_group
    return not is_custom or (workload.api_group, workload.locator.kind) in KINDS


def read_workload(
    document: Mapping[str, Any],
    locator: Locator,
    api_group: str,
    kind: PodMakerKind,
) -> WorkloadFacts:
    """The pods an object of a known kind makes."""
    whole_document = dict(document)
    raw_groups = list(kind.groups(whole_document))
    groups: list[PodGroup] = []
    programs: list[ContainerProgram] = []
    annotations = _annotations(whole_document, raw_groups)
    labels = mapping(at(document, "metadata.labels"))
    fragment = kind.checked_on_creation and _is_fragment(raw_groups)
    metadata_known = not fragment and _metadata_known(whole_document, raw_groups)
    for raw in raw_groups:
        group, found = _group(raw, annotations, fragment=fragment)
        groups.append(group)
        programs += found
    return WorkloadFacts(
        locator=locator,
        api_group=api_group,
        pod_groups=tuple(groups),
        runs_to_completion=kind.runs_to_completion,
        template_checked_on_creation=kind.checked_on_creation,
        suspended=fact(at(document, kind.suspend), boolean, kind.suspend).or_default(False),
        deadline_seconds=_deadline(whole_document, kind, fragment=fragment),
        intent=_intent(annotations, programs, metadata_known),
        annotations={k: v for k, v in annotations.items() if isinstance(v, str)},
        labels={k: v for k, v in labels.items() if isinstance(v, str)},
        hidden_keys=frozenset(
            key for key, value in (*annotations.items(), *labels.items()) if value is UNKNOWN
        ),
        metadata_known=metadata_known,
        labels_written=at(document, "metadata.labels") is not None,
        scaling=tuple(kind.scaling(whole_document)) if kind.scaling is not None else (),
        job=_job(whole_document, kind.job) if kind.job is not None else None,
        ray=kind.ray(whole_document) if kind.ray is not None else None,
        trains=kind.trains,
        serves=kind.serves,
        starts_together=natural(at(document, kind.enough)) not in (0, 1)
        and (
            kind.starts_together
            or any(not raw.together.is_known or raw.together.value > 1 for raw in raw_groups)
        ),
        surge=_surge(whole_document, locator.kind) if not fragment else absent(),
        node_agent=kind.node_agent or locator.namespace in NODE_NAMESPACES,
    )


def _intent(
    annotations: Mapping[str, Any],
    programs: Sequence[ContainerProgram],
    metadata_known: bool,
) -> WorkloadIntent:
    """Read only where GPUs are requested: most workloads of a program request none."""
    if programs and not metadata_known:
        return intents.HIDDEN
    if not programs:
        environment = intents.declared_environment(annotations)
        return _NO_INTENT if environment.is_absent else WorkloadIntent(environment=environment)
    return intents.intent(annotations, programs)


_NO_INTENT = WorkloadIntent()


def _annotations(document: dict[str, Any], groups: Iterable[RawGroup]) -> dict[str, Any]:
    """Annotations of the object over those of its pod templates."""
    merged: dict[str, Any] = {}
    for group in groups:
        if group.metadata is not None:
            merged.update(mapping(at(group.metadata, "annotations")))
    merged.update(mapping(at(document, "metadata.annotations")))
    return merged


def _metadata_known(document: dict[str, Any], groups: Iterable[RawGroup]) -> bool:
    """Whether every map of labels and annotations can be read."""
    own = document.get("metadata")
    found = [own, *(group.metadata for group in groups)]
    return not any(
        one is UNKNOWN or at(one, "labels") is UNKNOWN or at(one, "annotations") is UNKNOWN
        for one in found
        if one is not None
    )


def _is_fragment(groups: Iterable[RawGroup]) -> bool:
    """Whether no container has an image: then it is a patch of Kustomize, and the object that it
    changes may have the missing fields."""
    for raw in groups:
        listed = mapping(raw.spec).get("containers")
        if raw.spec is UNKNOWN or listed is UNKNOWN or UNKNOWN in items(listed):
            return False
        if any(at(one, "image") is not None for one in items(listed)):
            return False
    return True


def _deadline(document: dict[str, Any], kind: PodMakerKind, *, fragment: bool) -> Fact[int]:
    places = kind.job.deadlines if kind.job is not None else ()
    for place in places:
        found = fact(at(document, place), whole, place)
        if not found.is_absent:
            return found
    return absent(places[0]) if places and not fragment else unknown("deadline")


def _surge(document: dict[str, Any], kind: str) -> Fact[int]:
    """A Deployment's surge where no old pod may end before (Kubernetes API, RollingUpdate:
    `maxSurge` 25 % rounds up, `maxUnavailable` 25 % rounds down), and that of an InferenceService,
    which KServe makes one with these defaults, or a Knative revision that replaces the old one."""
    kserve = kind == "InferenceService"
    place = "spec.predictor.deploymentStrategy" if kserve else "spec.strategy"
    size = "spec.predictor.minReplicas" if kserve else "spec.replicas"
    way = at(document, f"{place}.type")
    if kind not in ("Deployment", "InferenceService") or way == "Recreate":
        return absent(place)
    replicas = fact(at(document, size), natural, size).or_default(1)
    place += ".rollingUpdate"
    written = [at(document, f"{place}.{key}") for key in ("maxSurge", "maxUnavailable")]
    if not replicas.is_known or UNKNOWN in (way, *written):
        return unknown(place)
    more = _part(written[0], replicas.value, up=True)
    fewer = _part(written[1], replicas.value, up=False)
    if more is None or fewer is None:
        return unknown(place)
    return known(more, place=place) if more and not fewer else absent(place)


def _part(value: Any, replicas: int, *, up: bool) -> int | None:
    """A number of pods, or a percentage of the replicas; 25 % where nothing is written."""
    text_value = "25%" if value is None else str(value)
    if not text_value.endswith("%"):
        return natural(value)
    percent = natural(text_value[:-1])
    if percent is None:
        return None
    return -(-replicas * percent // 100) if up else replicas * percent // 100


def _job(document: dict[str, Any], fields: JobFields) -> JobFacts:
    def number(place: str) -> Fact[int]:
        return fact(at(document, place), natural, place) if place else absent()

    def written(place: str) -> Fact[str]:
        return fact(at(document, place), text, place) if place else absent()

    concurrency = written(fields.concurrency)
    parent = fields.deadlines[0].rpartition(".")[0] if fields.deadlines else ""
    holder = at(document, parent) if parent else UNKNOWN
    return JobFacts(
        deadline_parent_written=unknown(parent)
        if holder is UNKNOWN
        else known(is_mapping(holder), place=parent),
        retries=number(fields.retries)
        if at(document, fields.retries.replace("backoffLimit", "podFailurePolicy")) is None
        else unknown(fields.retries),
        time_to_live=number(fields.time_to_live),
        time_to_live_place=fields.time_to_live,
        schedule=written(fields.schedule),
        concurrency=concurrency.or_default("Allow") if fields.concurrency else concurrency,
    )


def _group(
    raw: RawGroup, annotations: dict[str, Any], *, fragment: bool
) -> tuple[PodGroup, list[ContainerProgram]]:
    spec = mapping(raw.spec)
    found, programs = containers(raw)
    if fragment:
        found = [as_fragment(container) for container in found]
    own = mapping(at(raw.metadata, "annotations")) if raw.metadata is not None else {}
    group = PodGroup(
        name=raw.name,
        place=raw.place,
        pods=raw.pods,
        containers=tuple(found),
        node_labels=scheduling.node_labels(spec),
        containers_known=not raw.stated.get("runtime")
        and (
            raw.containers is not None
            or (
                not fragment
                and is_mapping(raw.spec)
                and isinstance(spec.get("containers"), list | None)
            )
        ),
        selector=frozenset(mapping(spec.get("nodeSelector"))),
        together=raw.together,
        node_labels_known=not fragment and is_mapping(raw.spec) and scheduling.labels_known(spec),
        tolerations=scheduling.tolerations(spec, raw.place),
        priority_class=fact(spec.get("priorityClassName"), text, f"{raw.place}.priorityClassName"),
        scheduler=fact(spec.get("schedulerName"), text, f"{raw.place}.schedulerName"),
        promised_gpus=raw.stated.get("promised_gpus") or 0,
        host_ipc=spec.get("hostIPC") not in (None, False),
        gated=spec.get("schedulingGates") is not None,
        claims=tuple(
            scheduling.claims(spec, f"{raw.place}.{raw.stated.get('claims', 'resourceClaims')}")
        ),
        runtime_class=fact(spec.get("runtimeClassName"), text, f"{raw.place}.runtimeClassName"),
        deadline_seconds=fact(
            spec.get("activeDeadlineSeconds"), natural, f"{raw.place}.activeDeadlineSeconds"
        ),
        node_name=fact(spec.get("nodeName"), text, f"{raw.place}.nodeName"),
        subdomain=fact(
            spec.get("subdomain") if raw.subdomain is None else raw.subdomain,
            text,
            f"{raw.place}.subdomain",
        ),
        restarts=fact(spec.get("restartPolicy"), text, f"{raw.place}.restartPolicy"),
        service_links=spec.get("enableServiceLinks") is None
        and isinstance(raw.spec, dict)
        and not fragment,
        zone_bound=scheduling.is_zone_bound(spec, {**annotations, **own}),
        volumes=tuple(
            name
            for volume in items(spec.get("volumes"))
            if isinstance(name := at(volume, "persistentVolumeClaim.claimName"), str)
        ),
        pod_requests=_pod_requests(spec, raw.place),
        labels={k: v for k, v in mapping(at(raw.metadata, "labels")).items() if isinstance(v, str)}
        if raw.metadata is not None
        else {},
        annotations=own,
    )
    return group, programs


def _pod_requests(spec: dict[str, Any], place: str) -> dict[str, Any]:
    """CPU and memory of the whole pod (`spec.resources`, Kubernetes 1.34)."""
    resources = spec.get("resources")
    if not is_mapping(resources) or "containers" not in spec:
        return {}
    merged = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
    return {name: fact(v, amount, f"{place}.resources") for name, v in merged.items()}
