"""Documents that must be JSON, not YAML: the `config` text of the network device plugins."""

import json
from typing import Any

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument


def json_problem(read: GoDocument) -> str | None:
    """Why Go's JSON parser refuses the text; None if it accepts it."""
    text = read.text
    if text is None:
        return None
    try:
        data: Any = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        return str(problem)
    if not isinstance(data, dict) and data is not None:
        return "a JSON object is needed"
    return None


def validate_json(read: GoDocument, code: str, report: CheckReport) -> None:
    """Report a text that is YAML but not JSON."""
    problem = json_problem(read)
    if problem is not None:
        fix = "write JSON, with braces and quoted keys"
        report.say("not-json", "", code=code, fix=fix, problem=problem)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not valid JSON number")
