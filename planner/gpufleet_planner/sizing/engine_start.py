"""Whether an engine starts: it does, it refuses with a reason of its own, or it is not known."""

from gpufleet.findings import Finding, warning
from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.inference import Serving
from gpufleet.models.kv_cache import unknown_start
from gpufleet.models.ledger import GIB
from gpufleet_planner.sizing.cache_capacity import CacheCapacity


def refusal_of(model: Architecture, serving: Serving, room: CacheCapacity) -> Finding | None:
    """Why an engine refuses to divide its cache or serves no request of the context, in its own
    terms."""
    sglang = serving.engine is InferenceEngine.SGLANG
    if room.refusal is not None:
        text = (
            f"{'SGLang' if sglang else 'vLLM'} refuses to start with {model.name}: {room.refusal}"
        )
        fix = "weights or cache in fewer bits, or more GPUs" if sglang else "use another engine"
        return warning("engine-refuses-model", "model", text, fix)
    if sglang and room.longest is not None and room.longest < serving.context:
        return warning(
            "engine-refuses-context",
            "context",
            f"SGLang starts, and refuses requests of more than {room.longest} tokens: its cache "
            f"has no more, and {serving.context} are asked for",
            f"a context of at most {room.longest}, weights or cache in fewer bits, or more GPUs",
            value=serving.context,
            limit=room.longest,
        )
    if room.needed_bytes is None or not 0 < room.cache_bytes < room.needed_bytes:
        return None
    shorter = f"a context of at most {room.longest}, " if room.longest else ""
    return warning(
        "engine-refuses-context",
        "context",
        f"vLLM refuses to start: one sequence of {serving.context} tokens needs "
        f"{room.needed_bytes / GIB:.2f} GiB of cache, in blocks of all groups of layers, and "
        f"{room.cache_bytes / GIB:.2f} GiB are left",
        f"{shorter}weights or cache in fewer bits, or more GPUs",
        value=room.needed_bytes,
        limit=room.cache_bytes,
    )


def starts(
    model: Architecture, serving: Serving, room: CacheCapacity | None, findings: list[Finding]
) -> bool | None:
    """Whether an engine starts with a model that has the memory; None: not known."""
    unknown = unknown_start(model)
    if unknown is not None:
        fix = "start the engine once with `--max-model-len`, and take what it reports"
        text = f"whether {serving.engine} starts with {model.name} is not known: {unknown}"
        findings.append(warning("engine-start-not-known", "model", text, fix))
        return None
    blocks = None if room is None else room.state_blocks
    if blocks is None or serving.max_sequences <= blocks:
        return True
    findings.append(
        warning(
            "engine-refuses-sequences",
            "maxSequences",
            f"vLLM refuses to start: max_num_seqs ({serving.max_sequences}) exceeds the {blocks} "
            f"blocks that are left for states of {model.name}, one for each sequence",
            f"write maxSequences of at most {blocks}",
            value=serving.max_sequences,
            limit=blocks,
        )
    )
    return False
