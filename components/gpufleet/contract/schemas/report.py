"""Problems of schemas as findings of `check`, under the codes of a family of kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.contract.foreign.unknown_keys import key_rules, report_key
from gpufleet.contract.foreign.validation import CheckReport, CheckRule, Verdict
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, path_of
from gpufleet.contract.schemas.validator import schema_problems

_K = SchemaProblemKind
READER = "the API server"


@dataclass(frozen=True, slots=True)
class SchemaCodes:
    """Codes of findings about the shape of one family's objects."""

    prefix: str
    """Codes of unknown fields begin with it: `<prefix>-key-misspelt`, `-key-unknown`."""
    wrong_type: str
    choice: str
    bound: str
    required: str
    other: str
    """Patterns, repeated entries, fields that do not fit each other."""

    def of(self, kind: SchemaProblemKind) -> str:
        """The code of a problem that is no unknown field."""
        return {
            _K.TYPE: self.wrong_type,
            _K.CHOICE: self.choice,
            _K.BOUND: self.bound,
            _K.REQUIRED: self.required,
        }.get(kind, self.other)


def schema_codes(prefix: str) -> SchemaCodes:
    """The codes of a family that has none of its own."""
    return SchemaCodes(
        prefix,
        wrong_type=f"{prefix}-wrong-type",
        choice=f"{prefix}-choice-unknown",
        bound=f"{prefix}-out-of-bounds",
        required=f"{prefix}-field-missing",
        other=f"{prefix}-value-invalid",
    )


def schema_rules(
    codes: SchemaCodes, ids: tuple[str, ...], what: str, source: str
) -> tuple[CheckRule, ...]:
    """The rules of a family's codes. `what`: whose objects, as in "an object of Karpenter"."""
    sentences = {
        codes.wrong_type: f"A value of {what} has a type its definition refuses.",
        codes.choice: f"A value of {what} is none of those its definition allows.",
        codes.bound: f"A value of {what} is outside the bounds of its definition.",
        codes.required: f"A field that the definition of {what} requires is missing.",
        codes.other: f"A value of {what} does not match the pattern of its definition, an entry "
        "of a list is there twice, or fields do not fit each other.",
    }
    return (
        *key_rules(codes.prefix, ids, READER, source),
        *(
            CheckRule(code, ids, Verdict.REJECT, sentence, source)
            for code, sentence in sentences.items()
        ),
    )


def report_schema(
    document: Mapping[str, Any],
    codes: SchemaCodes,
    report: CheckReport,
    path: str = "",
    *,
    special: Callable[[SchemaProblem], str | None] | None = None,
    ignored: Callable[[SchemaProblem], bool] | None = None,
) -> None:
    """Add what the schema of an object's kind refuses.

    Args:
        document: The object; its kind has a schema.
        codes: Codes of the findings.
        report: Where to.
        path: Where the object is in the text.
        special: Another code for a problem, None for the usual one.
        ignored: Problems that a rule of their own reports.
    """
    for problem in schema_problems(document):
        if ignored is not None and ignored(problem):
            continue
        report_problem(problem, codes, report, path, special(problem) if special else None)


def report_problem(
    problem: SchemaProblem,
    codes: SchemaCodes,
    report: CheckReport,
    path: str = "",
    code: str | None = None,
) -> None:
    """Add one problem."""
    if problem.kind is _K.UNKNOWN:
        parent, key = path_of(problem.steps[:-1], path), str(problem.steps[-1])
        report_key(report, codes.prefix, parent, key, problem.known, READER)
        return
    facts = {"value": problem.value, "limit": problem.limit}
    if problem.kind is _K.CHOICE:
        facts = {"value": problem.value, "allowed": problem.limit}
    report.add(
        code or codes.of(problem.kind),
        path_of(problem.steps, path),
        problem.message,
        problem.fix,
        **{name: fact for name, fact in facts.items() if fact is not None},
    )
