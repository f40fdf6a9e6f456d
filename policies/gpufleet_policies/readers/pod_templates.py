"""The place of pod templates in each kind, and the number of pods of each template.

Kinds are looked up by group and kind, whatever the version: older versions still appear in files.
Rows of `pod_templates.jsonl` have `group`, `kind`, fields of `PodMakerKind`, and in `pods`,
`scaling` and `ray` the name of a function of these modules, with the arguments that make it; a
`scaling` of arguments by name is that of `scaling_of`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpufleet.catalogue.edition import read_rows
from gpufleet.cluster.fact import known, unknown
from gpufleet.documents.shapes import is_list
from gpufleet_policies.readers import batch_templates, other_pods, ray_templates, serving_templates
from gpufleet_policies.readers.raw_pods import (
    Groups,
    JobFields,
    PodMakerKind,
    RawGroup,
    count,
    scaling_of,
    template,
    times,
)
from gpufleet_policies.readers.reading import at


def pod(document: dict[str, Any]) -> Groups:
    """A Pod is its own template."""
    yield RawGroup(
        "", "spec", document.get("spec"), known(1, place="spec"), document.get("metadata")
    )


def counted(path: str, pods: str, subdomain: str = "") -> Callable[[dict[str, Any]], Groups]:
    """A template under a path, the number of its pods under another, 1 by default, and the name of
    their subdomain under a third."""

    def groups(document: dict[str, Any]) -> Groups:
        named = at(document, subdomain) if subdomain else None
        yield template(document, "", path, count(document, pods), subdomain=named)

    return groups


def uncounted(path: str, place: str) -> Callable[[dict[str, Any]], Groups]:
    """A template whose number of pods is not known."""

    def groups(document: dict[str, Any]) -> Groups:
        yield template(document, "", path, unknown(place))

    return groups


def notebook(document: dict[str, Any]) -> Groups:
    """One pod."""
    yield template(document, "", "spec.template", known(1, place="spec"))


def leader_worker_set(document: dict[str, Any]) -> Groups:
    """Leaders and workers, or pods that are all workers."""
    replicas = count(document, "spec.replicas")
    size = count(document, "spec.leaderWorkerTemplate.size")
    worker = "spec.leaderWorkerTemplate.workerTemplate"
    leader = "spec.leaderWorkerTemplate.leaderTemplate"
    stated = {"spreads": size.found != 1}
    if at(document, leader) is None:
        yield template(document, "", worker, times(replicas, size), together=size, stated=stated)
        return
    yield template(document, "leader", leader, replicas, together=size, stated=stated)
    others = known(max(0, size.value - 1), place=size.place) if size.is_known else size
    yield template(
        document, "worker", worker, times(replicas, others), together=size, stated=stated
    )


_MODULES = (batch_templates, other_pods, ray_templates, serving_templates)


def _named(written: list[Any]) -> Any:
    """A function, or what it makes of arguments."""
    name, *arguments = written
    found = globals().get(name) or next(
        getattr(one, name) for one in _MODULES if hasattr(one, name)
    )
    return found(*arguments) if arguments else found


def _kind(row: Mapping[str, Any]) -> PodMakerKind:
    fields: dict[str, Any] = {**row}
    for key in ("group", "kind", "note"):
        fields.pop(key, None)
    fields["groups"] = _named(fields.pop("pods"))
    if "job" in fields:
        job: dict[str, Any] = {"deadlines": (), **fields["job"]}
        job["deadlines"] = tuple(job["deadlines"])
        fields["job"] = JobFields(**job)
    if "scaling" in fields:
        scaling = fields["scaling"]
        fields["scaling"] = _named(scaling) if is_list(scaling) else scaling_of(**scaling)
    if "ray" in fields:
        fields["ray"] = _named(fields["ray"])
    return PodMakerKind(**fields)


KINDS: Mapping[tuple[str, str], PodMakerKind] = {
    (row["group"], row["kind"]): _kind(row)
    for row in read_rows(Path(__file__).parent, Path(__file__).stem)
}
"""Group and kind -> where its pods are."""
