"""Arguments of a model server with which its engine does not start."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from gpufleet.catalogue.features import numbers
from gpufleet.cluster import Container, PodGroup, WorkloadFacts
from gpufleet.cluster.container import MIG_PREFIX
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.model_memory import capability_of, longest_sequence, named_model
from gpufleet_policies.rules.model_requests import possible_gpus
from gpufleet_policies.rules.servers import says
from gpufleet_policies.rules.written import written_rule


class _Refused(NamedTuple):
    found: str
    limit: str
    alternative: str


@written_rule("server-arguments-refused")
def refused(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """The heads of the model by the tensor parallel size, for models of the catalogue; a tensor
    parallel size over MIG slices; a part of the GPU's memory above 1; of vLLM, a type of numbers
    that older GPUs do not compute in, and a longer sequence than the model's."""
    if workload.ray is not None:
        return
    running = tuple(workload.running_groups())
    alone = len(workload.gpu_containers) == 1
    for group, container in workload.gpu_containers:
        if group not in running or container.init:
            continue
        why = _share(container)
        if container.launch.serves and (container.launch.tensor.found or 1) > 1:
            uneven = _heads(context, workload, container) if alone else None
            why = uneven or _slices(group, container) or why
        if why is None and says(container, "vllm") and container.launch.serves and alone:
            why = _numbers(context, workload, group) or _length(workload, container)
        if why is not None:
            yield refused.say(
                container.where,
                why=why,
                container=container,
                money=held(context, workload, group, kind=AmountKind.STANDING),
            )


def _heads(context: RuleContext, workload: WorkloadFacts, container: Container) -> _Refused | None:
    """vLLM `ModelConfig.verify_with_parallel_config`; SGLang divides the heads in the same way,
    but for attention in data-parallel copies."""
    launch = container.launch
    words = " ".join(container.words.found or ())
    model = named_model(workload.intent, context.catalogue)
    if model is None or "dp-attention" in words or not launch.data.is_absent:
        return None
    from gpufleet.models.parallel import Parallelism, check_parallelism

    uneven = check_parallelism(model, Parallelism(tensor=launch.tensor.value))
    if not uneven or uneven[0].code != "tensor-parallel-uneven":
        return None
    possible = [size for size in cast("list[int]", uneven[0].evidence["possible"]) if size <= 16]
    return _Refused(
        f"starts {model.name} with a tensor parallel size of {launch.tensor.value}",
        uneven[0].message,
        f"write one of {', '.join(map(str, possible))}, or a pipeline parallel size",
    )


def _slices(group: PodGroup, container: Container) -> _Refused | None:
    tensor = container.launch.tensor
    resources = group.gpu_resources
    if len(resources) != 1 or not resources[0].startswith(MIG_PREFIX):
        return None
    return _Refused(
        f"requests {resources[0]} and starts with a tensor parallel size of {tensor.value}",
        "a CUDA process sees one MIG slice, and slices do not reach one another's memory",
        "write a tensor parallel size of 1 and request one slice that holds the model",
    )


def _numbers(context: RuleContext, workload: WorkloadFacts, group: PodGroup) -> _Refused | None:
    """vLLM's `check_if_supports_dtype` and `get_min_capability` of quantisations."""
    written = workload.intent.precision
    needed = capability_of(written.value) if written.found in ("bfloat16", "awq") else None
    rows = [context.catalogue.gpu(name) for name in possible_gpus(context, group)]
    older = [row for row in rows if needed and (row.compute_capability or needed) < needed]
    if not needed or not rows or len(older) < len(rows):
        return None
    return _Refused(
        f"computes in {written.value} on {' or '.join(row.name for row in rows)}",
        f"vLLM needs a compute capability of {needed[0]}.{needed[1]} for it",
        "write `--dtype half`" if written.value == "bfloat16" else "take a newer GPU",
    )


def _length(workload: WorkloadFacts, container: Container) -> _Refused | None:
    """vLLM's `_get_and_verify_max_len`, of models whose config.json is known."""
    asked, most = workload.intent.context_tokens, longest_sequence(workload.intent)
    words = container.words.found or ()
    if not asked.is_known or most is None or asked.value <= most:
        return None
    if "VLLM_ALLOW_LONG_MAX_MODEL_LEN" in container.variables or container.words.is_unknown:
        return None
    if any(word.startswith(("--rope", "--hf-overrides", "--config")) for word in words):
        return None
    return _Refused(
        f"requests sequences of {asked.value:,} tokens",
        f"max_position_embeddings of {workload.intent.model.value} is {most:,}",
        f"write --max-model-len {most}, or --hf-overrides with the model's rope scaling",
    )


def _share(container: Container) -> _Refused | None:
    share = container.launch.memory_share
    if not share.is_known or 0 < share.value <= 1:
        return None
    return _Refused(
        f"takes {share.value} of the GPU's memory",
        "the part is above 0 and at most 1",
        "write a part such as 0.9",
    )


_SERVER = r"\b(?:(?:vllm|sglang|cli\.main) serve|openai\.api_server|sglang\.launch_server)\b"
"""What starts the server of an engine."""
_COMMAND = r"""((?:'[^']*'|"[^"]*"|[^;&|'"])*)"""
"""The rest of a command in a script."""


def own_options(context: RuleContext, container: Mapping[str, Any]) -> dict[str, str | None]:
    """What a server gets of the words of its container (`own`), and the first option of it that the
    release of the engine in the image does not have (`foreign`): argparse takes the beginning of a
    name, too, and vLLM underscores. Of a script, no other command; of another program, nothing."""
    words = str(container.get("words", ""))
    shell = re.match(r"(?:\S*/)?(?:ba|da|z)?sh\n", words)
    text = re.sub(r"(?m)^\s*#.*$|\\\s*\n", " ", words).replace("\n", ";" if shell else " ")
    start = re.search(_SERVER + (_COMMAND if shell else "(.*)"), text, re.DOTALL)
    alone = "command" not in container and not shell
    own = start[1] if start else text if alone else None
    engine = re.search(r"(?:^|/)(vllm|sglang)(?:-openai)?:v?[0-9]", str(container.get("image")))
    if engine is None or own is None or not container["release"]:
        return {"own": own}
    options = context.catalogue.features(engine[1]).options.values()
    known = [f" {one.name}" for one in options if one.is_in(numbers(container["release"]))]
    given = re.findall(r"(?<!\S)--(?!help|version)[A-Za-z][\w-]*", own)
    names = {one: f" {one[2:].replace('_', '-').removeprefix('no-')}" for one in given}
    foreign = next((one for one, name in names.items() if name not in "".join(known)), None)
    return {"own": own, "foreign": foreign}
