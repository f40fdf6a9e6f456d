"""Kind `kueue`: queues and flavors of Kueue, with the workloads next to them.

All documents of the text count, as for `kubectl apply`. Source: kubernetes-sigs/kueue
pkg/webhooks/clusterqueue_webhook.go (validateResourceGroups, validateFlavorQuotas).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.program import Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.report import SCHEMA_RULES, report_object, schema_codes
from gpufleet.contract.schemas.validator import has_schema
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, items_at, value_at
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.kubernetes_objects import Object, objects

__all__ = ["RULES", "validate"]

_GROUP = "kueue.x-k8s.io/"
_CODES = schema_codes()

RULES = rule_table(
    *written_rules(Path(__file__).with_name("kueue_objects_rules.jsonl")),
    *SCHEMA_RULES,
)


@dataclass(slots=True)
class _Found:
    queues: dict[str, Object] = field(default_factory=dict[str, Object])
    local: dict[str, Object] = field(default_factory=dict[str, Object])
    flavors: set[str] = field(default_factory=set[str])


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate every object of the text, alone and against the others."""
    report = CheckReport(RULES, texts=Path(__file__).parent)
    release = context.release_of("kueue")
    found = _Found()
    own = 0
    for path, item in objects(read):
        if not str(item.get("apiVersion")).startswith(_GROUP):
            continue
        own += 1
        _validate_version(item, path, release, report)
        kind, name = item.get("kind"), _name_of(item.get("metadata"))
        if kind in ("ClusterQueue", "Cohort"):
            _validate_groups(_groups(item), child(path, "spec"), report)
        if has_schema(item.get("apiVersion"), kind):
            report_object(item, _GROUP[:-1], _CODES, report, path)
        if kind == "ClusterQueue":
            found.queues[name] = (path, item)
        elif kind == "LocalQueue":
            found.local[name] = (path, item)
        elif kind == "ResourceFlavor":
            found.flavors.add(name)
    if not own:
        report.say("kueue-nothing-to-judge", "")
    _validate_names(found, report)
    return report.validation()


def _validate_version(
    item: Mapping[str, Any], path: str, release: Reader, report: CheckReport
) -> None:
    versions = release.features.versions
    row = versions.get(str(item.get("apiVersion")))
    if row is not None and release.numbers is not None and not row.is_in(release.at):
        served = ", ".join(name for name, one in versions.items() if one.is_in(release.at))
        gone = row.gone is not None and not release.at < numbers(row.since)
        came = f"went with {row.gone}" if gone else f"came with {row.since}"
        where, of = child(path, "apiVersion"), str(release)
        report.say(
            "kueue-version-not-served", where, value=row.name, of=of, came=came, served=served
        )


def _validate_groups(groups: Sequence[Mapping[str, Any]], place: str, report: CheckReport) -> None:
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(groups):
        path = child(child(place, "resourceGroups"), index)
        covered = [str(one) for _, one in items_at(group, "coveredResources")]
        for number, name in enumerate(covered):
            _once(name, resources, child(child(path, "coveredResources"), number), report)
        for place, flavor in items_at(group, "flavors"):
            item, where = as_mapping(flavor) or {}, f"{path}.{place}"
            _once(str(item.get("name")), flavors, child(where, "name"), report)
            given = [_name_of(one) for _, one in items_at(item, "resources")]
            if given != covered:
                report.say(
                    "kueue-quota-order",
                    child(where, "resources"),
                    name=item.get("name"),
                    given=", ".join(given) or "nothing",
                    covered=", ".join(covered) or "nothing",
                    kept=", ".join(covered),
                )


def _once(name: str, seen: set[str], path: str, report: CheckReport) -> None:
    if name in seen:
        report.say("kueue-listed-twice", path, value=name)
    seen.add(name)


def _validate_names(found: _Found, report: CheckReport) -> None:
    for path, queue in found.queues.values():
        for g, group in enumerate(_groups(queue)):
            for place, flavor in items_at(group, "flavors"):
                name = _name_of(flavor)
                if found.flavors and name not in found.flavors:
                    where = f"{child(path, 'spec')}.resourceGroups[{g}].{place}.name"
                    _absent("kueue-flavor-absent", "ResourceFlavor", name, found.flavors,
                            where, report)  # fmt: skip
    for path, local in found.local.values():
        name = str(value_at(local, "spec.clusterQueue"))
        if found.queues and name not in found.queues:
            _absent("kueue-queue-absent", "ClusterQueue", name, found.queues,
                    f"{child(path, 'spec')}.clusterQueue", report)  # fmt: skip


def _absent(
    code: str,
    kind: str,
    name: str,
    known: Mapping[str, Any] | set[str],
    path: str,
    report: CheckReport,
) -> None:
    report.say(
        "kueue-object-absent",
        path,
        code=code,
        fix=nearest_fix(name, known, f"add the {kind}"),
        value=name,
        kind=kind,
        known=sorted(known),
    )


def _groups(queue: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [as_mapping(group) or {} for _, group in items_at(queue, "spec.resourceGroups")]


def _name_of(value: Any) -> str:
    return str(value_at(value, "name"))
