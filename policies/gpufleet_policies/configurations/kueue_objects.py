"""Kind `kueue`: queues and flavors of Kueue, with the workloads next to them.

All documents of the text count, as for `kubectl apply`. Source: kubernetes-sigs/kueue
pkg/webhooks/clusterqueue_webhook.go (validateResourceGroups, validateFlavorQuotas).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.program import Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.report import SCHEMA_RULES, report_problems, schema_codes
from gpufleet.contract.schemas.validator import has_schema, schema_problems
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


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate every object of the text, alone and against the others."""
    report = CheckReport(RULES, texts=Path(__file__).parent)
    release = context.release_of("kueue")
    named: dict[str, dict[str, Object]] = {}  # kind -> objects by name
    for path, item in objects(read):
        if not str(item.get("apiVersion")).startswith(_GROUP):
            continue
        _validate_version(item, path, release, report)
        kind = str(item.get("kind"))
        named.setdefault(kind, {})[_name_of(item.get("metadata"))] = (path, item)
        if kind in ("ClusterQueue", "Cohort"):
            _validate_groups(_groups(item), child(path, "spec"), report)
        if has_schema(item.get("apiVersion"), kind):
            report_problems(schema_problems(item), _CODES, report, path)
    if not named:
        report.say("kueue-nothing-to-judge", "")
    _validate_names(named, report)
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


def _validate_names(named: Mapping[str, Mapping[str, Object]], report: CheckReport) -> None:
    queues, flavors = named.get("ClusterQueue", {}), named.get("ResourceFlavor", {})
    for path, queue in queues.values():
        for g, group in enumerate(_groups(queue)):
            for place, flavor in items_at(group, "flavors"):
                name = _name_of(flavor)
                where = f"{child(path, 'spec')}.resourceGroups[{g}].{place}.name"
                _named("kueue-flavor-absent", "ResourceFlavor", name, flavors, where, report)
    for path, local in named.get("LocalQueue", {}).values():
        name, where = str(value_at(local, "spec.clusterQueue")), child(path, "spec")
        _named("kueue-queue-absent", "ClusterQueue", name, queues, f"{where}.clusterQueue", report)


def _named(
    code: str, kind: str, name: str, known: Mapping[str, Object], path: str, report: CheckReport
) -> None:
    """A name must be one of the kind's objects in the text; without any, they are elsewhere."""
    if known and name not in known:
        fix = nearest_fix(name, known, f"add the {kind}")
        there = sorted(known)
        report.say(
            "kueue-object-absent", path, code=code, fix=fix, value=name, kind=kind, known=there
        )


def _groups(queue: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [as_mapping(group) or {} for _, group in items_at(queue, "spec.resourceGroups")]


def _name_of(value: Any) -> str:
    return str(value_at(value, "name"))
