"""Problems of schemas as findings of `check`, under the codes of a family of kinds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue.schemas import schema_source, served_versions
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, path_of
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.findings import Severity
from gpufleet.rules.rows import SHARED

_K = SchemaProblemKind
READER = "the API server"


@dataclass(frozen=True, slots=True)
class SchemaCodes:
    """Codes of findings about the shape of one family's objects."""

    wrong_type: str
    choice: str
    bound: str
    required: str
    other: str
    """Patterns, repeated entries, fields that contradict each other."""
    reader: str = READER
    """The reader to which an unknown field is not known."""
    definition: tuple[str, str] | None = None
    """API version and kind whose definition is of one release of the vendor's, named in messages:
    objects do not name their release, and an unknown field may have existed before."""
    of_release: str | None = None
    """The known release, if the objects are of an older one: fields that it does not know may have
    existed then."""

    def of(self, kind: SchemaProblemKind) -> str:
        """The code of a problem that is not an unknown field."""
        return {
            _K.TYPE: self.wrong_type,
            _K.CHOICE: self.choice,
            _K.BOUND: self.bound,
            _K.REQUIRED: self.required,
            _K.NEWER: f"{SHARED}-key-unknown",
            _K.REFUSED: "object-operator-refuses",
        }.get(kind, self.other)


def schema_codes(reader: str = READER) -> SchemaCodes:
    """The codes of a family without its own codes."""
    return SchemaCodes(
        wrong_type=f"{SHARED}-wrong-type",
        choice=f"{SHARED}-choice-unknown",
        bound=f"{SHARED}-out-of-bounds",
        required=f"{SHARED}-value-missing",
        other=f"{SHARED}-value-invalid",
        reader=reader,
    )


SCHEMA_RULES = rules_in("unknown_keys", "schema")
"""The rules of `schema_codes`."""


def object_problems(document: Mapping[str, Any], group: str) -> tuple[SchemaProblem, ...]:
    """Errors of an object by the schema of its kind.

    Without `apiVersion`, or with one without a schema, the newest version of the group is used;
    without `spec`, an empty one. Raises KeyError if the kind has no schema.
    """
    versions = served_versions(str(document["kind"]), group)
    version = document.get("apiVersion")
    version = version if version in versions else versions[-1]
    whole: dict[str, Any] = {"apiVersion": version, **document}
    if whole.get("spec") is None:
        whole["spec"] = {}
    return schema_problems(whole, version)


def report_problems(
    problems: Iterable[SchemaProblem],
    codes: SchemaCodes,
    report: CheckReport,
    path: str = "",
    special: Callable[[SchemaProblem], str | None] | None = None,
) -> None:
    """Add problems of an object at `path`; none if another rule already refuses the place, or of
    the definition's rules, which name no fix, a place in it.

    `special` returns another code for a problem, None for the usual one. Other rules come
    first, so that their message is reported.
    """
    taken = {one.path for one in report.findings if one.severity is Severity.ERROR}
    for problem in problems:
        place = path_of(problem.steps, path)
        wide = problem.kind is _K.CONDITION
        inside = f"{place}." if place else ""
        if not any(one == place or (wide and one.startswith(inside)) for one in taken):
            code = special(problem) if special is not None else None
            code = problem.code if problem.code in report.rules else code
            report_problem(problem, codes, report, path, code)


def report_problem(
    problem: SchemaProblem,
    codes: SchemaCodes,
    report: CheckReport,
    path: str = "",
    code: str | None = None,
) -> None:
    """Add one problem of an object at `path`; `code` replaces the usual one."""
    if problem.kind is _K.UNKNOWN and code is None:
        parent, key = path_of(problem.steps[:-1], path), str(problem.steps[-1])
        known, reader = problem.known, _reader(codes)
        release, needless = codes.of_release, problem.asks_for_nothing
        report_key(report, parent, key, known, reader, release, needless=needless)
        return
    if problem.kind is _K.NEWER and problem.asks_for_nothing:
        return
    limit = "allowed" if problem.kind is _K.CHOICE else "limit"
    facts: dict[str, Any] = {"value": problem.value, limit: problem.limit, "since": problem.since}
    report.add(
        code or codes.of(problem.kind),
        path_of(problem.steps, path),
        problem.message,
        problem.fix,
        **{name: fact for name, fact in facts.items() if fact is not None},
    )


def _reader(codes: SchemaCodes) -> str:
    source = None if codes.definition is None else schema_source(*codes.definition)
    if source is None:
        return codes.reader
    return f"{codes.reader} with the definitions of {source.repository} {source.release}"
