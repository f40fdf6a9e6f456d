"""Rules as CEL over pod templates, and the objects whose templates they validate.

`targets.jsonl` has the places of pod templates. Policies are split by them, because the API server
checks the types of an expression against every kind a policy matches: a field that one of them
lacks is an error. Lists need one type: `dyn`. `checks.jsonl` has an expression for each rule, with
the texts of `_WORDS` between `@`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufleet.documents.shapes import items
from gpufleet.findings import Level
from gpufleet.rules.context import Thresholds
from gpufleet_policies.names import names


@dataclass(frozen=True, slots=True)
class AdmissionTarget:
    """Objects with their pod templates at one place."""

    name: str
    group: str
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    kinds: tuple[str, ...]
    templates: str
    """CEL: list of the pod templates; their `metadata` may be missing."""
    specs: str = ""
    """CEL: list of the pod specs; empty: those of the templates."""
    stopped: str = "false"
    """CEL: no pod of it runs as it is written."""
    checked_on_creation: bool = False
    """The API server validates the pod template itself, before any policy sees it."""
    on_update: bool = True


Expression = str | Callable[[Thresholds], str]
"""CEL; a function where it depends on thresholds, whose values it holds."""


@dataclass(frozen=True, slots=True)
class ObjectCheck:
    """A rule that one object decides. Exactly one of `container` and `offence` is given."""

    rule: str
    targets: tuple[AdmissionTarget, ...]
    container: Expression | None = None
    """CEL over a container `c` among the pod's GPU containers `cs`: true if it breaks the rule."""
    offence: Expression | None = None
    """CEL over `object`: true where it breaks the rule; empty: the settings request nothing."""
    while_stopped: bool = True
    """Whether it counts although no pod of it runs."""
    init_containers: bool = True
    at_most: Level = Level.MANDATORY
    """Caps the level of the rule where the expression has weaker evidence than the rule."""


def cel(expression: Expression, thresholds: Thresholds) -> str:
    """The text of an expression."""
    return expression if isinstance(expression, str) else expression(thresholds)


def quoted(text: str) -> str:
    """A CEL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def listed(texts: Any) -> str:
    """A CEL list of string literals."""
    return "[" + ", ".join(quoted(text) for text in texts) + "]"


_LIMITS = "c.?resources.?limits.orValue({})"
_REQUESTS = "c.?resources.?requests.orValue({})"
_IS_GPU = (
    "(k == 'nvidia.com/gpu' || k.startsWith('nvidia.com/gpu.') || k.startsWith('nvidia.com/mig-'))"
)
HOLDS_GPU = (
    f"({_LIMITS}.exists(k, {_IS_GPU} && string({_LIMITS}[k]) != '0')"
    f" || {_REQUESTS}.exists(k, {_IS_GPU} && string({_REQUESTS}[k]) != '0'))"
)
"""Whether container `c` requests more than 0 of a GPU-like resource: charts write 0 for none."""
_SHELL = "sh|bash|ash|dash|zsh"
WORDS = "(c.?command.orValue([]) + c.?args.orValue([]))"
_WORDS = {
    "LIMITS": _LIMITS,
    "REQUESTS": _REQUESTS,
    "IS_GPU": _IS_GPU,
    "HOLDS_GPU": HOLDS_GPU,
    "NAMES_GPU": f"({_LIMITS}.exists(k, {_IS_GPU}) || {_REQUESTS}.exists(k, {_IS_GPU}))",
    "WORDS": WORDS,
    "SHELL": _SHELL,
    "GPU_LABELS": listed(names("label of nodes with GPUs")),
    # A claim whose name suggests GPUs: an expression cannot look up its request.
    "GPU_CLAIM": "[r.?resourceClaimTemplateName.orValue(''), r.?resourceClaimName.orValue('')]"
    ".exists(n, n.matches('(^|[-.])(gpus?|mig|cuda)([-.0-9]|$)')"
    " && !n.matches('imex|compute-?domain|channel|nic|rdma|roce|network'))",
}


def _at_least(number: int) -> str:
    """Regular expression of decimal integers without leading zeros that are this large or larger:
    CEL reads no numbers out of a text."""
    digits = str(number)
    choices = [f"[1-9][0-9]{{{len(digits)},}}"]
    for index, digit in enumerate(digits):
        rest = len(digits) - index - 1
        low = int(digit) + 1
        if low <= 9:
            choices.append(f"{digits[:index]}[{low}-9]" + (f"[0-9]{{{rest}}}" if rest else ""))
    return f"({'|'.join([*choices, digits])})"


def _idle(thresholds: Thresholds) -> str:
    seconds = max(1, thresholds.idle_sleep_seconds)
    times = "|".join(
        f"{_at_least(-(-seconds // per))}(\\\\.[0-9]+)?{unit}"
        for unit, per in (("s?", 1), ("m", 60), ("h", 3600), ("d", 86400))
    )
    sleep = rf"(/usr)?(/bin/)?sleep\\s+(infinity|inf|{times})"
    tail = r"(/usr/bin/)?tail\\s+(-[fF]|--follow)\\s+/dev/null"
    shell = rf"^(.*/)?({_SHELL})$"
    script = f"({WORDS}[0].matches('{shell}') ? {WORDS}[{WORDS}.size() - 1] : {WORDS}.join(' '))"
    last = rf"(^|&&|\\|\\||[;\n&])\\s*(exec |wait )?\\s*({sleep}|{tail})[;&)\\s]*$"
    watch = (
        r"while\\s+(true|:|\\[ 1 \\])\\s*;?\\s*do\\s+(nvidia-smi[^;]*;\\s*sleep|"
        r"sleep\\s+[a-z0-9.]+\\s*;?\\s*done)"
    )
    pause = r"^([^@:]*/)?pause([:@].*)?$"
    return (
        f"({WORDS}.size() == 0 && c.?image.orValue('').matches('{pause}'))"
        f" || ({WORDS}.size() > 0 && ("
        f"({WORDS}.size() == 1 && {WORDS}[0].matches('^(.*/)?pause$'))"
        f" || {script}.matches('{last}')"
        f" || {script}.matches('{watch}')))"
    )


def _ownerless(thresholds: Thresholds) -> str:
    """Nothing to check where the project requests no tags on workloads."""
    found = lacks_owner("[variables.labels] + variables.annotationMaps", thresholds)
    return f"variables.gpuLists.exists(cs, cs.size() > 0) && {found}" if found else ""


def lacks_owner(maps: str, thresholds: Thresholds) -> str:
    """CEL: none of these maps of labels has some key that the project requests; empty: it requests
    none."""
    tags = thresholds.owner_tags
    wanted = [tag.lower().replace("-", "").replace("_", "") for tag in tags]
    if not wanted:
        return ""
    folded = "k.split('/')[k.split('/').size() - 1].lowerAscii().replace('-', '').replace('_', '')"
    return f"!{listed(wanted)}.all(tag, ({maps}).exists(m, m.exists(k, {folded} == tag)))"


_FUNCTIONS: dict[str, Expression] = {"idle": _idle, "ownerless": _ownerless}


def _rows(name: str) -> Iterator[dict[str, Any]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for line in text.splitlines():
        row: dict[str, Any] = json.loads(line)
        yield {key: tuple(items(v)) if isinstance(v, list) else v for key, v in row.items()}


def _target(row: dict[str, Any]) -> AdmissionTarget:
    row.setdefault("specs", f"({row['templates']}).filter(t, has(t.spec)).map(t, t.spec)")
    return AdmissionTarget(**row)


TARGETS = tuple(map(_target, _rows("targets.jsonl")))
"""Everything with pod templates that has a policy. A TrainJob has only what it changes of its
runtime."""

JUDGED_OWNERS = tuple(
    sorted({kind for target in TARGETS if target.name != "pods" for kind in target.kinds})
)
"""Kinds that have their own policy: it covers their children, which are not checked again."""


def _check(row: dict[str, Any]) -> ObjectCheck:
    only, without = row.pop("targets", None), row.pop("without", ())
    for part in {"container", "offence"} & row.keys():
        text: str = row[part]
        for word, written in _WORDS.items():
            text = text.replace(f"@{word}@", written)
        row[part] = _FUNCTIONS.get(text, text)
    if only == "custom":  # of others the API server itself refuses such requests, before any policy
        without = [one.name for one in TARGETS if one.checked_on_creation]
        only = None
    targets = [one for one in TARGETS if one.name not in without]
    row["at_most"] = Level(row.get("at_most", Level.MANDATORY))
    return ObjectCheck(
        targets=tuple(one for one in targets if only is None or one.name in only), **row
    )


CHECKS = tuple(map(_check, _rows("checks.jsonl")))
"""Checks that need pod templates."""
