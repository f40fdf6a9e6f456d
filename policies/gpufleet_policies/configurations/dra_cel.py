"""Device selectors: whether the expression parses, names attributes that the driver publishes, and
matches a GPU of the catalogue.

Expressions are parsed and evaluated by `common-expression-language`. Syntax and functions that it
lacks are reported as not validated. Kubernetes' side: staging/src/k8s.io/
dynamic-resource-allocation/cel/compile.go, apiserver pkg/cel/library (quantity, semver).
"""

import re
from collections.abc import Sequence
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix, nearest_names
from gpufleet.contract.programs.dra_cel_functions import (
    CALLABLE,
    compiled,
    evaluated,
    is_quantity,
    is_semver,
)
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.shapes import as_mapping
from gpufleet_policies.configurations.dra_devices import (
    CLASSES,
    DRIVER,
    FORMER,
    KUBERNETES,
    DraDevice,
    attribute_names,
    devices,
)

_LONGEST = 10 * 1024
_FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_ASKS_FOR_KEYS = re.compile(r"has\s*\(|['\"][\w./]+['\"]\s+in\s+device")
_FROM_THE_GPU = ("profile", "productName", "architecture", "cudaComputeCapability")
"""Attributes whose value follows from the GPU."""


def validate_selector(
    expression: str, device_class: str | None, gpu: str | None, path: str, report: CheckReport
) -> None:
    """One CEL expression of a request of this class, None for the selector of a DeviceClass; with
    a GPU only for its devices."""
    if len(expression) > _LONGEST:
        report.say("dra-cel-invalid", path, limit=_LONGEST, expression=len(expression))
        return
    if not _compiles(expression, path, report) or not _literals_are_fine(expression, path, report):
        return
    kind = CLASSES.get(device_class or "")
    about = kind is not None or DRIVER in expression
    if device_class in CLASSES and kind is None:
        return  # devices of compute domains are not the user's to select
    candidates = [one for one in devices() if kind in (None, one.type) and gpu in (None, one.gpu)]
    if not candidates:
        what = "MIG" if kind == "mig" else "devices of this class"
        report.say("dra-cel-matches-nothing/gpu", path, value=expression, gpu=gpu, what=what)
        return
    if not about:
        _evaluate_names(expression, path, report)
    elif _evaluates(expression, candidates, kind, path, report):
        _validate_matches(expression, candidates, path, report)


def _compiles(expression: str, path: str, report: CheckReport) -> bool:
    try:
        compiled(expression)
    except ValueError as problem:
        text = str(problem)
        if "unsupported syntax" in text and "token recognition" not in text:
            _not_judged(path, "it uses optional fields or quoted identifiers", report)
            return False
        found = re.search(r"<input>:(\d+):(\d+): ([^\n]*)", text)
        where = f"line {found[1]}, column {found[2]}: {found[3]}" if found else text
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", expression)
        report.apply("dra syntax", path, expression=expression, bare=bare, where=where)
        return False
    return True


def _literals_are_fine(expression: str, path: str, report: CheckReport) -> bool:
    for name, text in re.findall(r"\b(semver|quantity)\(\s*['\"]([^'\"]*)['\"]\s*\)", expression):
        if is_semver(text) if name == "semver" else is_quantity(text):
            continue
        form = "three numbers such as 8.0.0" if name == "semver" else "an amount such as 40Gi"
        report.say(
            "dra-cel-invalid/argument", path, value=expression, name=name, text=text, form=form
        )
        return False
    return True


def _evaluates(
    expression: str,
    candidates: Sequence[DraDevice],
    kind: str | None,
    path: str,
    report: CheckReport,
) -> bool:
    """Whether the expression yields true or false for some device; reported where it does not."""
    problems: list[Exception] = []
    for device in candidates:
        try:
            value = evaluated(expression, device.variable(everything=True))
        except (KeyError, RuntimeError, TypeError, ValueError) as problem:
            problems.append(problem)
            continue
        if isinstance(value, bool):
            return True
        report.say("dra-cel-invalid/type", path, value=expression, said=_said(value))
        return False
    _report_failure(problems[0], expression, kind, path, report)
    return False


def _said(value: Any) -> str:
    """A result, without the form in which quantities and versions are held here."""
    inner = as_mapping(value)
    return f"a {next(iter(inner), 'map')}" if inner is not None else repr(value)


def _report_failure(
    problem: Exception, expression: str, kind: str | None, path: str, report: CheckReport
) -> None:
    text = str(problem)
    if isinstance(problem, KeyError):
        _report_key(str(problem.args[0]), expression, kind, path, report)
    elif isinstance(problem, TypeError) and "overload" in text:
        report.say("dra-cel-invalid/operator", path, value=expression)
    else:
        _evaluate_undefined(text, expression, path, report)


def _report_key(
    key: str, expression: str, kind: str | None, path: str, report: CheckReport
) -> None:
    if re.search(rf"\bdevice\.{re.escape(key)}\b", expression):
        report.say(
            "dra-cel-invalid/field", path, value=expression, key=key, fields=", ".join(_FIELDS)
        )
        return
    if key in FORMER:
        report.say("dra-cel-attribute-former", path, value=key, former=FORMER[key])
        return
    domain = "." in key or "/" in key
    known = (DRIVER, KUBERNETES) if domain else tuple(sorted(attribute_names(kind)))
    what = f"no device of {DRIVER} has attributes of the domain" if domain else (
        f"no {kind or 'NVIDIA'} device has the attribute"
    )  # fmt: skip
    report.say(
        "dra-cel-attribute-unknown",
        path,
        value=key,
        known=known,
        what=what,
        fix=nearest_fix(key, known),
    )


def _evaluate_names(expression: str, path: str, report: CheckReport) -> None:
    """For devices of other drivers only undeclared names are reported."""
    try:
        evaluated(expression, devices()[0].variable(everything=True))
    except RuntimeError as problem:
        _evaluate_undefined(str(problem), expression, path, report)
    except (KeyError, TypeError, ValueError):
        return  # what other drivers publish is not known


def _evaluate_undefined(text: str, expression: str, path: str, report: CheckReport) -> None:
    found = re.search(r"Undefined variable or function: '(\w+)'", text)
    name = found[1] if found else ""
    called = re.search(rf"\b{re.escape(name)}\s*\(", expression) if name else None
    if not name or "cel.bind" in expression or (called and name not in _misspelt(name)):
        reason = f"it calls {name}" if called else "the evaluator cannot run it"
        _not_judged(path, reason, report)
        return
    hint = "" if called else ": an expression has the variable device"
    fix = _misspelt(name).get(name) or f"write device.attributes['{DRIVER}'].{name}"
    report.say("dra-cel-invalid/name", path, fix=fix, value=expression, name=name, hint=hint)


def _misspelt(name: str) -> dict[str, str]:
    """A function that Kubernetes does not have, and that is nearly one it has -> the fix."""
    if name in CALLABLE:
        return {}
    near = nearest_names(name, CALLABLE, limit=1)
    return {name: f"write `{near[0]}`"} if near else {}


def _validate_matches(
    expression: str,
    candidates: Sequence[DraDevice],
    path: str,
    report: CheckReport,
) -> None:
    """Whether a GPU of the catalogue matches, where the expression uses only known facts."""
    if _ASKS_FOR_KEYS.search(expression):
        return
    for device in candidates:
        try:
            if evaluated(expression, device.variable(everything=False)):
                return
        except KeyError as problem:
            if str(problem.args[0]) not in _FROM_THE_GPU:
                return  # it requests what depends on the node
        except (
            RuntimeError,
            TypeError,
            ValueError,
        ):  # reported by _evaluates where no device can be evaluated
            continue
    depends = {name for name in _FROM_THE_GPU if _depends(expression, candidates, name)}
    if depends == {"profile"}:
        profiles = sorted({str(d.known["profile"]) for d in candidates if "profile" in d.known})
        wanted = re.findall(r"profile\s*==\s*['\"]([^'\"]*)['\"]", expression)
        near = [
            p
            for p in profiles
            if wanted
            and (
                p.replace(".", "") == wanted[0].replace(".", "")
                or p.partition("g.")[0] == wanted[0].partition("g.")[0]
            )
        ]
        what = f"the MIG profile {' or '.join(wanted)}" if wanted else "a MIG profile that matches"
        whose, known = _whose(candidates), (near or profiles)[:12]
        report.say(
            "dra-cel-profile-unknown", path, value=expression, whose=whose, what=what, known=known
        )
        return
    report.say("dra-cel-matches-nothing", path, value=expression, whose=_whose(candidates))


def _whose(candidates: Sequence[DraDevice]) -> str:
    keys = {device.gpu for device in candidates}
    return f"no {keys.pop()}" if len(keys) == 1 else "no GPU of the catalogue"


def _depends(expression: str, candidates: Sequence[DraDevice], name: str) -> bool:
    for device in candidates:
        if name not in device.known:
            continue
        try:
            evaluated(expression, device.variable(everything=False, without=name))
        except KeyError as problem:
            return problem.args[0] == name
        except (RuntimeError, TypeError, ValueError):  # no result for this device
            continue
    return False


def _not_judged(path: str, reason: str, report: CheckReport) -> None:
    report.say("dra-cel-not-judged", path, reason=reason)
