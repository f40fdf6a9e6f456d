"""Processes that a container starts on its GPUs: command line, variables, fields of its kind.

Options of vLLM, SGLang, TGI, torchrun, accelerate, deepspeed. A value without an option is absent:
an engine's own default proves nothing, because images set defaults too.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from gpufleet.cluster.container import NO_LAUNCH, Launch
from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet_policies.names import names
from gpufleet_policies.readers.options import Options
from gpufleet_policies.readers.reading import decimal, fact, whole

TENSOR = ("--tensor-parallel-size", "-tp", "--tp-size", "--tp", "--num-shard")
PIPELINE = ("--pipeline-parallel-size", "-pp", "--pp-size", "--pp")
DATA_LOCAL = ("--data-parallel-size-local", "-dpl")
DATA = ("--data-parallel-size", "-dp", "--dp-size", "--dp")
PROCESSES = ("--nproc-per-node", "--num-gpus")
ALL_PROCESSES = ("--num-processes",)
MACHINES = ("--num-machines",)
MEMORY_SHARE = ("--gpu-memory-utilization", "--mem-fraction-static", "--cuda-memory-fraction")
SEVERAL_PODS = names("option of several pods")
"""Options by which programs find each other across pods."""

PROCESS_VARIABLES = ("NPROC_PER_NODE", "PET_NPROC_PER_NODE")
TRAINERS = frozenset({"torchrun", "accelerate", "deepspeed", "horovodrun", "composer", "axolotl"})
"""Programs that only start training."""

_DEVICES = re.compile(r"^(?:\+{1,2}|--)?trainer\.devices=([0-9]+)$")
"""Hydra and Lightning: GPUs of a node that the trainer opens, a process each."""

_TORCH_RUN = ("torch.distributed.run", "torch.distributed.launch")
_HIDING = ("CUDA_VISIBLE_DEVICES",)


def launch(
    words: Sequence[str],
    options: Options,
    variables: Mapping[str, str],
    stated: Mapping[str, Any],
    place: str,
) -> Launch:
    """The launch of one container.

    Args:
        words: Command and arguments, split.
        options: Of these words.
        variables: Environment variables with known values.
        stated: Fields of the object itself: `tensor`, `pipeline`, `data`, `data_local`, `spreads`.
        place: Field path of the container.
    """
    trains = any(word.rsplit("/", 1)[-1] in TRAINERS or word in _TORCH_RUN for word in words)
    if not options and not stated and not trains and not variables:
        return NO_LAUNCH
    if several_programs(words):
        # Each program opens other GPUs, whose number is unknown here.
        return Launch(unknown(place), unknown(place), unknown(place), unknown(place), trains=trains)
    nodes, meeting = _rendezvous(words, options, variables, place)
    return Launch(
        tensor=_degree("tensor", TENSOR, options, stated, place),
        pipeline=_degree("pipeline", PIPELINE, options, stated, place),
        data=_data(options, stated, place),
        processes=_processes(words, options, variables, stated, trains, place),
        nodes=nodes,
        meeting=meeting,
        memory_share=fact(options.single(MEMORY_SHARE), _part, place),
        spreads=_spreads(options, stated),
        trains=trains,
    )


def several_programs(words: Sequence[str]) -> bool:
    """Whether a script starts programs besides each other."""
    servers = sum(word in ("serve", "vllm.entrypoints.openai.api_server") for word in words)
    background = any(word == "&" or (word.endswith("&") and word != "&&") for word in words)
    hidden = any(word.startswith(_HIDING) for word in words)
    return servers > 1 or background or hidden


def _degree(
    name: str,
    options: Iterable[str],
    found: Options,
    stated: Mapping[str, Any],
    place: str,
) -> Fact[int]:
    written = found.single(options)
    if written is None and stated.get(name) is not None:
        return fact(stated[name], _positive, f"{name} parallelism")
    return fact(written, _positive, place)


def _data(options: Options, stated: Mapping[str, Any], place: str) -> Fact[int]:
    """Copies of the model in one pod; where the program spreads over several, in all of them."""
    local = fact(options.single(DATA_LOCAL), _positive, place)
    if local.is_absent:
        local = fact(stated.get("data_local"), _positive, place)
    if local.is_absent or _spreads(options, stated):
        whole_size = _degree("data", DATA, options, stated, place)
        return unknown(place) if whole_size.is_absent and not local.is_absent else whole_size
    return local


def _spreads(options: Options, stated: Mapping[str, Any]) -> bool:
    return bool(stated.get("spreads")) or options.has(SEVERAL_PODS)


def _processes(
    words: Sequence[str],
    options: Options,
    variables: Mapping[str, str],
    stated: Mapping[str, Any],
    trains: bool,
    place: str,
) -> Fact[int]:
    """`auto` and `gpu` mean one for each GPU there is: no number, so nothing to compare."""
    written = options.single(PROCESSES)
    if written is None and trains:
        written = next((variables[key] for key in PROCESS_VARIABLES if key in variables), None)
    if written is None and stated.get("processes") is not None:
        return fact(stated["processes"], _positive, "processes per node")
    if written is None:
        devices = {found[1] for word in words if (found := _DEVICES.match(word))}
        if len(devices) == 1:
            return fact(devices.pop(), _positive, place)
    if written is not None:
        # Ray's own `--num-gpus` belongs to `ray start`, not to a trainer.
        return fact(written, _positive, place) if trains else absent(place)
    total, machines = options.single(ALL_PROCESSES), options.single(MACHINES)
    if total is None or not trains:
        return absent(place)
    processes, pods = fact(total, _positive, place), fact(machines or "1", _positive, place)
    if not processes.is_known or not pods.is_known or processes.value % pods.value:
        return unknown(place)
    return known(processes.value // pods.value, place=place)


_MEETING = ("--rdzv-endpoint", "--master-addr")
_MEETING_VARIABLES = ("PET_RDZV_ENDPOINT", "PET_MASTER_ADDR")
_ELASTIC = ("torchrun", *_TORCH_RUN)
_SHELL_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def _rendezvous(
    words: Sequence[str], options: Options, variables: Mapping[str, str], place: str
) -> tuple[Fact[int], Fact[str]]:
    """Number of pods that torchrun waits for, and their address (pytorch v2.9,
    torch/distributed/run.py: 127.0.0.1 without option or variable PET_...; not MASTER_ADDR)."""
    starts = [word for word in words if word.rsplit("/", 1)[-1] in _ELASTIC]
    if not starts:  # servers over several pods count them too: SGLang, vLLM
        return fact(options.single(("--nnodes",)), _positive, place), absent(place)
    if len(starts) != 1 or options.has(("--standalone", "--rdzv-conf")):
        return absent(place), absent(place)
    nodes, address = options.single(("--nnodes",)), options.single(_MEETING)
    if address is None:
        address = next((variables[key] for key in _MEETING_VARIABLES if key in variables), None)
    if address is None and any("PET_" in word for word in words):
        address = "?"

    def filled(value: str | None) -> str | None:
        """Without variables of the shell; "?" where one is not known."""
        if value is None:
            return None
        text = _SHELL_VARIABLE.sub(lambda m: variables.get(m[1] or m[2], "?"), value)
        return "?" if "?" in text or "$" in text else text

    where = fact(filled(address), lambda v: None if v == "?" else str(v), place)
    return fact(filled(nodes), _positive, place), where


def _part(value: Any) -> Decimal | None:
    number = decimal(value)
    return number if number is not None and 0 < number < 1000 else None


def _positive(value: Any) -> int | None:
    number = whole(value)
    return number if number is not None and 0 < number <= 1_000_000 else None
