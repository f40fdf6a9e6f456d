"""Kind `kubernetes-object`: any object whose schema the catalogue has, by that schema alone."""

from gpufleet.catalogue.schemas import schema_kinds
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import (
    SCHEMA_RULES,
    has_schema,
    newer_problems,
    report_problem,
    report_problems,
    schema_codes,
    schema_problems,
)
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.rules.rows import accept, reject, rule_table
from gpufleet_policies.configurations.objects import objects

__all__ = ["RULES", "validate"]

CODES = schema_codes()
_SOURCE = "the vendors' definitions, `catalogue/data/<edition>/schemas`; kube-apiserver 1.36"

RULES = rule_table(
    reject(
        "object-nothing-to-judge",
        ("schema",),
        "The text holds no object whose schema is known.",
        _SOURCE,
    ),
    accept(
        "object-version-unknown",
        ("schema",),
        "The schema of an object's kind or API version is not known: the object is not validated.",
        _SOURCE,
    ),
    reject(
        "object-field-too-new",
        ("schema",),
        "A field or value of Kubernetes' own kinds came with a later minor version than the "
        "cluster's, which drops it or refuses the object. Known from Kubernetes 1.32 on.",
        "k8s.io/api v0.31.14 to v0.36.3, types.go of each group",
    ),
    *SCHEMA_RULES,
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate every object of the text whose schema is known, and name the others."""
    report = CheckReport(RULES)
    found = list(objects(read))
    judged = [(p, o) for p, o in found if has_schema(o.get("apiVersion"), o.get("kind"))]
    if not judged:
        report.add(
            "object-nothing-to-judge",
            "",
            "there is no object whose schema is known",
            f"give an object of {', '.join(sorted(schema_kinds())[:3])} or another of "
            f"{len(schema_kinds())} API versions",
        )
    for path, item in found:
        if (path, item) in judged:
            report_problems(schema_problems(item), CODES, report, path)
            if context.minor is not None:
                for problem in newer_problems(item, context.minor):
                    code = "object-field-too-new"
                    report_problem(problem, CODES, report, path, code)
        else:
            report.add(
                "object-version-unknown",
                child(path, "kind"),
                f"the schema of {item.get('apiVersion')} {item.get('kind')} is not known",
            )
    return report.validation()
