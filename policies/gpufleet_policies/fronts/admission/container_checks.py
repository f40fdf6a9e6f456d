"""Checks of containers and pod specs."""

from gpufleet.findings import Level
from gpufleet_policies.fronts.admission.check import Constants, ObjectCheck, listed
from gpufleet_policies.fronts.admission.targets import (
    DAEMON_SETS,
    FULL_TEMPLATES,
    POD_TARGETS,
    REPLICATED,
    TRAINING_RUNTIMES,
    AdmissionTarget,
)
from gpufleet_policies.names import names

LIMITS = "c.?resources.?limits.orValue({})"
REQUESTS = "c.?resources.?requests.orValue({})"
IS_GPU = (
    "(k == 'nvidia.com/gpu' || k.startsWith('nvidia.com/gpu.') || k.startsWith('nvidia.com/mig-'))"
)
NAMES_GPU = f"({LIMITS}.exists(k, {IS_GPU}) || {REQUESTS}.exists(k, {IS_GPU}))"
"""Whether container `c` names a GPU-like resource."""
HOLDS_GPU = (
    f"({LIMITS}.exists(k, {IS_GPU} && string({LIMITS}[k]) != '0')"
    f" || {REQUESTS}.exists(k, {IS_GPU} && string({REQUESTS}[k]) != '0'))"
)
"""Whether it requests more than none of one: charts write 0 for no GPU."""

_UNCHECKED = tuple(target for target in POD_TARGETS if not target.checked_on_creation)
"""Built-in kinds: the API server itself refuses such requests, before any policy."""

_SHELLS = ("sh", "bash", "ash", "dash", "zsh")
_WORDS = "(c.?command.orValue([]) + c.?args.orValue([]))"
_GPU_NODE_LABELS = names("label of nodes with GPUs")


def _last_statement(pattern: str) -> str:
    """Regular expression of a shell text whose last statement this is."""
    return rf"(^|&&|\\|\\||[;\n&])\\s*(exec |wait )?\\s*{pattern}[;&)\\s]*$"


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


def _idle(target: AdmissionTarget, constants: Constants) -> str:
    seconds = max(1, constants.thresholds.idle_sleep_seconds)
    times = "|".join(
        f"{_at_least(-(-seconds // per))}(\\\\.[0-9]+)?{unit}"
        for unit, per in (("s?", 1), ("m", 60), ("h", 3600), ("d", 86400))
    )
    sleep = rf"(/usr)?(/bin/)?sleep\\s+(infinity|inf|{times})"
    tail = r"(/usr/bin/)?tail\\s+(-[fF]|--follow)\\s+/dev/null"
    shell = rf"^(.*/)?({'|'.join(_SHELLS)})$"
    script = (
        f"({_WORDS}[0].matches('{shell}') ? {_WORDS}[{_WORDS}.size() - 1] : {_WORDS}.join(' '))"
    )
    watch = (
        r"while\\s+(true|:|\\[ 1 \\])\\s*;?\\s*do\\s+(nvidia-smi[^;]*;\\s*sleep|"
        r"sleep\\s+[a-z0-9.]+\\s*;?\\s*done)"
    )
    pause = r"^([^@:]*/)?pause([:@].*)?$"
    return (
        f"({_WORDS}.size() == 0 && c.?image.orValue('').matches('{pause}'))"
        f" || ({_WORDS}.size() > 0 && ("
        f"({_WORDS}.size() == 1 && {_WORDS}[0].matches('^(.*/)?pause$'))"
        f" || {script}.matches('{_last_statement(f'({sleep}|{tail})')}')"
        f" || {script}.matches('{watch}')))"
    )


_ONE_SHOT = (
    f"{_WORDS}.size() > 0 && "
    f"({_WORDS}.size() > 2 && {_WORDS}[0].matches('^(.*/)?({'|'.join(_SHELLS)})$')"
    f" ? {_WORDS}[{_WORDS}.size() - 1] : {_WORDS}.join(' '))"
    ".matches('^\\\\s*(exec )?(\\\\S*/)?(nvidia-smi(\\\\s+-L|\\\\s+-q)?|vectorAdd|"
    "cuda-?vector-?add|deviceQuery|nbody\\\\s.*-benchmark.*)[;\\\\s]*$')"
)

_DIFFERENT = (
    f"{REQUESTS}.exists(k, {IS_GPU} && k in {LIMITS}"
    f" && isQuantity(string({REQUESTS}[k])) && isQuantity(string({LIMITS}[k]))"
    f" && quantity(string({REQUESTS}[k])).compareTo(quantity(string({LIMITS}[k]))) != 0)"
)
_PART = (
    f"{LIMITS}.exists(k, {IS_GPU} && isQuantity(string({LIMITS}[k]))"
    f" && double(int(quantity(string({LIMITS}[k])).asApproximateFloat()))"
    f" != quantity(string({LIMITS}[k])).asApproximateFloat())"
)
_SHARES = (
    f"{LIMITS}.exists(k, k.startsWith('nvidia.com/') && k.endsWith('.shared')"
    f" && isQuantity(string({LIMITS}[k]))"
    f" && quantity(string({LIMITS}[k])).compareTo(quantity('1')) > 0)"
)
_SILENT = f"!['cpu', 'memory'].all(n, n in {REQUESTS} || n in {LIMITS})"

_FRACTIONS = (
    "(variables.annotationMaps.exists(a, 'gpu-fraction' in a || 'gpu-memory' in a)"
    f" && variables.containerLists.exists(cs, cs.exists(c, 'nvidia.com/gpu' in {LIMITS}"
    f" && string({LIMITS}['nvidia.com/gpu']) != '0')))"
    " || (variables.annotationMaps.exists(a, 'gpu-fraction' in a)"
    " && variables.annotationMaps.exists(a, 'gpu-memory' in a))"
)
_UNUSED_CLAIM = (
    "variables.specs.exists(p, p.?resourceClaims.orValue([]).exists(r,"
    " !(p.?containers.orValue([]).exists(c, c.?resources.?claims.orValue([]).exists(u,"
    " u.name == r.name)) || p.?initContainers.orValue([]).exists(c,"
    " c.?resources.?claims.orValue([]).exists(u, u.name == r.name)))))"
)
_GPU_CLAIM = (
    "[r.?resourceClaimTemplateName.orValue(''), r.?resourceClaimName.orValue('')].exists(n,"
    " n.matches('(^|[-.])(gpus?|mig|cuda)([-.0-9]|$)')"
    " && !n.matches('imex|compute-?domain|channel|nic|rdma|roce|network'))"
)
"""A claim whose name suggests GPUs: an expression cannot look up its request."""
_TWICE = (
    "variables.specs.exists(p, p.?resourceClaims.orValue([]).exists(r,"
    f" {_GPU_CLAIM}))"
    f" && variables.containerLists.exists(cs, cs.exists(c, {HOLDS_GPU}))"
)
_PINNED = (
    f"variables.specs.exists(p, {listed(_GPU_NODE_LABELS)}.exists(l,"
    " l in p.?nodeSelector.orValue({})) && p.?resourceClaims.orValue([]).size() == 0)"
    f" && !variables.containerLists.exists(cs, cs.exists(c, {NAMES_GPU}))"
)


def _ownerless(target: AdmissionTarget, constants: Constants) -> str:
    """Nothing to check where the project requests no tags on workloads."""
    found = lacks_owner("[variables.labels] + variables.annotationMaps", constants)
    return f"variables.gpuLists.exists(cs, cs.size() > 0) && {found}" if found else ""


def lacks_owner(maps: str, constants: Constants) -> str:
    """CEL: none of these maps of labels has some key that the project requests; empty: it requests
    none."""
    tags = constants.thresholds.owner_tags
    wanted = [tag.lower().replace("-", "").replace("_", "") for tag in tags]
    if not wanted:
        return ""
    folded = "k.split('/')[k.split('/').size() - 1].lowerAscii().replace('-', '').replace('_', '')"
    return f"!{listed(wanted)}.all(tag, ({maps}).exists(m, m.exists(k, {folded} == tag)))"


CHECKS = (
    ObjectCheck(
        "gpu-request-without-limit",
        _UNCHECKED,
        container=f"{REQUESTS}.exists(k, {IS_GPU} && !(k in {LIMITS}))",
    ),
    ObjectCheck(
        "gpu-request-differs-from-limit",
        _UNCHECKED,
        container=_DIFFERENT,
    ),
    ObjectCheck(
        "gpu-not-integer",
        _UNCHECKED,
        container=_PART,
    ),
    ObjectCheck(
        "shared-gpu-request-over-one",
        POD_TARGETS,
        container=_SHARES,
    ),
    ObjectCheck(
        "gpu-pod-without-cpu-memory",
        POD_TARGETS,
        container=_SILENT,
    ),
    ObjectCheck(
        "gpu-idle-command",
        POD_TARGETS,
        container=_idle,
        while_stopped=False,
        init_containers=False,
    ),
    ObjectCheck(
        "gpu-oneshot-in-deployment",
        (REPLICATED, DAEMON_SETS),
        container=_ONE_SHOT,
        while_stopped=False,
        init_containers=False,
    ),
    ObjectCheck(
        "fraction-with-whole-gpu",
        POD_TARGETS,
        offence=_FRACTIONS,
    ),
    ObjectCheck(
        "dra-claim-unused",
        FULL_TEMPLATES,
        offence=_UNUSED_CLAIM,
    ),
    ObjectCheck(
        "gpu-requested-twice",
        FULL_TEMPLATES,
        offence=_TWICE,
        at_most=Level.ADVISORY,
    ),
    ObjectCheck(
        "gpu-owner-tags-missing",
        tuple(t for t in POD_TARGETS if t not in (DAEMON_SETS, TRAINING_RUNTIMES)),
        offence=_ownerless,
    ),
    ObjectCheck(
        "non-gpu-pod-on-gpu-pool",
        tuple(t for t in FULL_TEMPLATES if t not in (DAEMON_SETS, TRAINING_RUNTIMES)),
        offence=_PINNED,
        while_stopped=False,
    ),
)
"""Checks that need pod templates."""
