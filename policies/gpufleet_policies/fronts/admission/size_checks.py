"""Checks of GPUs against the work on them: cards of the top class, GPUs that nothing opens.

Constants replace what the rules read in the catalogue: names of cards, and the largest
model of each format that a usual card holds.
"""

from decimal import Decimal
from fractions import Fraction
from functools import cache

from gpufleet.catalogue import load
from gpufleet_policies.fronts.admission.check import Constants, ObjectCheck, listed
from gpufleet_policies.fronts.admission.container_checks import LIMITS
from gpufleet_policies.fronts.admission.targets import (
    CRON_JOBS,
    JOB_SETS,
    JOBS,
    KNATIVE_SERVICES,
    NOTEBOOKS,
    PODS,
    PYTORCH_JOBS,
    REPLICATED,
    TRAIN_JOBS,
    AdmissionTarget,
)
from gpufleet_policies.money import cheapest_offers
from gpufleet_policies.readers.launch import (
    DATA,
    DATA_LOCAL,
    PIPELINE,
    PROCESSES,
    SEVERAL_PODS,
    TENSOR,
    TRAINERS,
)
from gpufleet_policies.rules.hardware import SHARING_LABELS
from gpufleet_policies.rules.model_fit import MODEST_BYTES, PREMIUM_NOMINAL_GB, ROOM
from gpufleet_policies.rules.model_memory import ENGINE_NAMES, GIB, largest_model
from gpufleet_policies.rules.placement import GPU_NAME_LABELS, PRODUCT_LABEL

_GPU = "'nvidia.com/gpu'"
_CARD_LABELS = (PRODUCT_LABEL, *GPU_NAME_LABELS)
_NUMBER = "^[0-9]{1,5}([.][0-9]{1,5})?$"
_MODEST_NEED = int(MODEST_BYTES / ROOM)
"""Bytes: a model up to this leaves a fifth of the largest usual card free."""


def _said(name: str, default: str = "") -> str:
    """CEL: an annotation of the object, else of its pod template."""
    key = f"'gpufleet.dev/{name}'"
    found = f"variables.annotationMaps.filter(a, {key} in a).map(a, string(a[{key}]))"
    return f"{found}[?0].orValue('{default}')"


@cache
def _premium_cards(smallest_saving: Decimal) -> tuple[str, ...]:
    """Names, in small letters, of cards of the top class that cost more than a usual one."""
    catalogue = load()
    usual = next(cheapest_offers(catalogue, int(_MODEST_NEED * ROOM), None), None)
    names: set[str] = set()
    for gpu in catalogue.gpus.values():
        if (gpu.nominal_gb or 0) < PREMIUM_NOMINAL_GB or not gpu.nvlink_bytes_per_second:
            continue
        own = next((o for o in cheapest_offers(catalogue, 0, None) if o.gpu == gpu.key), None)
        if usual is None or own is None:
            continue
        if usual.micro_usd_per_gpu_hour > own.micro_usd_per_gpu_hour * (
            1 - Fraction(smallest_saving)
        ):
            continue
        labels = (name.replace(" ", "-") for name in gpu.product_names)
        names.update(name.lower() for name in (gpu.key, gpu.name, *gpu.aliases, *labels))
    return tuple(sorted(names))


@cache
def _most_bytes(ratio: Decimal) -> int:
    """Need up to which the rule stops on every card of the top class, and a usual card will do."""
    cards = (gpu for gpu in load().gpus.values() if (gpu.nominal_gb or 0) >= PREMIUM_NOMINAL_GB)
    smallest = min(gpu.memory_bytes for gpu in cards if gpu.memory_bytes is not None)
    return min(_MODEST_NEED, int(smallest * ratio))


@cache
def _largest_models(most_bytes: int) -> str:
    """CEL map: format -> 1e9 parameters up to which a model needs no more."""
    usual = load().gpu("L40S").compute_capability
    rows: list[str] = []
    for name in (
        "fp32",
        "bf16",
        "fp16",
        "fp8",
        "int8",
        "int4",
        "nf4",
        "awq",
        "gptq",
        *ENGINE_NAMES,
    ):
        most = largest_model(most_bytes, name, usual)
        if most is not None:
            rows.append(f"'{name}': {float(most):.1f}")
    return "{" + ", ".join(dict.fromkeys(rows)) + "}"


def _premium(target: AdmissionTarget, constants: Constants) -> str:
    memory, parameters = _said("min-gpu-memory-gib"), _said("model-params-b")
    most = _most_bytes(constants.thresholds.oversized_mandatory_ratio)
    formats, precision = _largest_models(most), _said("precision", "bf16") + ".lowerAscii()"
    cards = _premium_cards(constants.thresholds.smallest_saving)
    modes = ["inference", "interactive"] if target is PODS else ["inference", "interactive", ""]
    promised = "['gpufleet.dev/latency-slo-ms', 'gpufleet.dev/throughput-slo']"
    return (
        f"{_said('mode')} in {listed(modes)}"
        f" && !variables.annotationMaps.exists(a, {promised}.exists(k, k in a))"
        f" && {precision} in {formats}"
        f" && ({memory}.matches('{_NUMBER}')"
        f" ? double({memory}) > 0.0 && double({memory}) <= {most / GIB:.2f}"
        f" : {parameters}.matches('{_NUMBER}') && double({parameters}) > 0.0"
        f" && double({parameters}) <= {formats}[{precision}])"
        " && variables.specs.exists(p,"
        f" {listed(_CARD_LABELS)}.exists(l, l in p.?nodeSelector.orValue({{}})"
        f" && string(p.nodeSelector[l]).lowerAscii() in {listed(cards)})"
        f" && !{listed(SHARING_LABELS)}.exists(l, l in p.?nodeSelector.orValue({{}})))"
        " && variables.gpuLists.exists(cs, cs.size() == 1 && cs.all(c,"
        f" {_GPU} in {LIMITS} && string({LIMITS}[{_GPU}]) == '1'))"
    )


_TEXT = "(' ' + (c.?command.orValue([]) + c.?args.orValue([])).join(' ') + ' ').replace('_', '-')"
"""CEL: the words of container `c`, one blank around each, underscores as dashes."""


def _option(names: tuple[str, ...]) -> str:
    return rf"\\s({'|'.join(names)})[=\\s]"


def _written(names: tuple[str, ...]) -> str:
    """CEL: the option is there once, with a plain number."""
    return (
        f"({_TEXT}.findAll('{_option(names)}').size() == 1"
        f" && {_TEXT}.matches('{_option(names)}\\\\s*[0-9]{{1,6}}\\\\s'))"
    )


def _value(names: tuple[str, ...]) -> str:
    """CEL: the number of an option; 1 where it is not there."""
    found = f"{_TEXT}.find('{_option(names)}\\\\s*[0-9]{{1,6}}\\\\s')"
    return f"(!{_TEXT}.matches('{_option(names)}') ? 1 : int({found}.find('[0-9]+\\\\s$').trim()))"


def _told(names: tuple[str, ...]) -> str:
    """CEL: the option is not there, or with a plain number."""
    return f"(!{_TEXT}.matches('{_option(names)}') || {_written(names)})"


_TRAINS = (
    rf"{_TEXT}.matches('\\s(\\S*/)?({'|'.join(sorted(TRAINERS))})\\s"
    rf"|\\storch[.]distributed[.](run|launch)\\s')"
)
_ALONE = (
    rf"!{_TEXT}.matches('(^|[^&])&\\s|CUDA-VISIBLE-DEVICES')"
    rf" && {_TEXT}.findAll('\\sserve\\s').size() < 2"
)
"""One program: several would open GPUs each for itself."""


def _idle_gpus(target: AdmissionTarget, constants: Constants) -> str:
    asked = f"quantity(string({LIMITS}[{_GPU}]))"
    per_pod = f"({_TRAINS} && {_written(PROCESSES)} && {_value(PROCESSES)} < {asked}.asInteger())"
    if target not in (PYTORCH_JOBS, JOB_SETS, TRAIN_JOBS):
        sizes = " && ".join(_told(names) for names in (PIPELINE, DATA, DATA_LOCAL))
        copies = (
            f"({_TEXT}.matches('{_option(DATA_LOCAL)}') ? {_value(DATA_LOCAL)} : {_value(DATA)})"
        )
        opened = f"{_value(TENSOR)} * {_value(PIPELINE)} * {copies}"
        per_pod += (
            f" || (!{_TRAINS} && !{_TEXT}.matches('{_option(SEVERAL_PODS)}')"
            f" && {_written(TENSOR)} && {sizes} && {opened} < {asked}.asInteger())"
        )
    return (
        f"cs.size() == 1 && {_GPU} in {LIMITS} && isQuantity(string({LIMITS}[{_GPU}]))"
        f" && {asked}.isInteger() && {_ALONE} && ({per_pod})"
    )


CHECKS = (
    ObjectCheck(
        "gpu-oversized-for-model",
        (PODS, REPLICATED, NOTEBOOKS, KNATIVE_SERVICES),
        "select a card such as an L40S, or declare gpufleet.dev/latency-slo-ms where the model "
        "must answer faster than it can",
        offence=_premium,
    ),
    ObjectCheck(
        "gpu-count-exceeds-parallelism",
        (
            PODS,
            REPLICATED,
            JOBS,
            CRON_JOBS,
            JOB_SETS,
            PYTORCH_JOBS,
            TRAIN_JOBS,
            NOTEBOOKS,
            KNATIVE_SERVICES,
        ),
        "ask for as many GPUs as there are processes, or raise the parallel size",
        container=_idle_gpus,
    ),
)
"""Checks of sizes, on what the object itself declares."""
