"""Kind `kubernetes-object`: any object whose schema the catalogue has, by that schema alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufleet.catalogue.schemas import KUBERNETES, schema_kinds
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.newer_fields import newer_problems
from gpufleet.contract.schemas.report import (
    SCHEMA_RULES,
    report_problem,
    report_problems,
    schema_codes,
)
from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.reading import read_go_stream
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table, written_rules

__all__ = ["RULES", "validate"]

CODES = schema_codes()

RULES = rule_table(
    *written_rules(Path(__file__).with_name("kubernetes_objects_rules.jsonl")),
    *SCHEMA_RULES,
)


Object = tuple[str, dict[str, Any]]
"""Its path in the text (empty for the only one), and the object."""


def objects(read: GoDocument) -> Iterator[Object]:
    """Every object of every document; the items of Lists."""
    documents = [one.data for one in read_go_stream(read.text)] if read.text else [read.data]
    for number, data in enumerate(documents):
        document = as_mapping(data)
        if document is None:
            continue
        path = child("documents", number) if len(documents) > 1 else ""
        items = as_list(document.get("items"))
        if items is None or not str(document.get("kind", "")).endswith("List"):
            yield path, document
            continue
        for index, entry in enumerate(items):
            item = as_mapping(entry)
            if item is not None:
                yield child(child(path, "items"), index), item


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate every object of the text whose schema is known, and name the others."""
    report = CheckReport(RULES, texts=Path(__file__).parent)
    judged = False
    for path, item in objects(read):
        if not has_schema(item.get("apiVersion"), item.get("kind")):
            report.say(
                "object-version-unknown",
                child(path, "kind"),
                apiversion=item.get("apiVersion"),
                kind=item.get("kind"),
            )
            continue
        judged = True
        version, kind = str(item["apiVersion"]), str(item["kind"])
        own = schema_kinds()[version][kind] == KUBERNETES
        codes = CODES if own else replace(CODES, definition=(version, kind))
        if kind == "Configuration":
            codes = replace(codes, reader="Kueue's manager")
        report_problems(schema_problems(item), codes, report, path)
        if context.minor is not None:
            for problem in newer_problems(item, context.minor):
                report_problem(problem, CODES, report, path, "object-field-too-new")
    if not judged:
        report.say(
            "object-nothing-to-judge",
            "",
            kinds=", ".join(sorted(schema_kinds())[:3]),
            count=len(schema_kinds()),
        )
    return report.validation()
