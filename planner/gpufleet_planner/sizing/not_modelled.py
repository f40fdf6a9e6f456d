"""Ways to serve that have no formula here: their names are refused, each with the reason."""

from gpufleet.findings import Finding, error

_SPECULATIVE = (
    "speculative decoding",
    "its gain is the number of drafted tokens that the model accepts, which depends on the texts",
    "size the model without it: the memory of a drafting model comes on top",
)
_DISAGGREGATED = (
    "prefill and decode on separate GPUs",
    "moving the cache between them and the ratio of both groups are not timed",
    "size one group for prompts (output 1) and one for outputs, or run both on the same GPUs",
)
_WIDE = (
    "experts over GPUs of several machines",
    "the all-to-all between machines (DeepEP) and unequal load of the experts are not timed",
    "keep the experts of a replica within one machine and add replicas",
)
_ATTENTION = (
    "data-parallel attention",
    "ranks that hold all of the attention and a part of the experts are not sized",
    "use tensor parallelism",
)
_CONNECTOR = (  # vllm-project/vllm#21348
    "a connector of the KV cache (LMCache, NIXL, offloading)",
    "what it takes of the GPU is not published; one start of vLLM lacks 1.0 GiB on each GPU",
    "size the engine without it, and take the cache from one start of the engine",
)
_NAMES = {
    _SPECULATIVE: """speculative speculativeConfig speculativeDecoding speculativeModel
    numSpeculativeTokens speculativeTokens draftModel draftTokens eagle medusa mtp nextn ngram""",
    _DISAGGREGATED: """disaggregated disaggregation disaggregatedServing disaggregatedPrefill
    prefillReplicas decodeReplicas prefillWorkers decodeWorkers prefillGpus decodeGpus""",
    _CONNECTOR: """kvTransfer kvTransferConfig kvConnector lmcache lmcacheConfig kvOffloadingSize
    kvOffloadingBackend enableHierarchicalCache enableLmcache""",
    _WIDE: "wideExpertParallel wideEp expertNodes expertParallelNodes deepep",
    _ATTENTION: "attentionDataParallel dataParallelAttention attentionDp enableDpAttention",
}


def _folded(name: str) -> str:
    return name.lstrip("-").replace("-", "").replace("_", "").lower()


NOT_MODELLED = {name: why for why, names in _NAMES.items() for name in names.split()}
"""By the name of a key, in camelCase."""
_FOLDED = {_folded(name): why for name, why in NOT_MODELLED.items()}


def not_modelled(name: str, path: str) -> Finding | None:
    """The error for a key or option that asks for one of them; None for any other name."""
    found = _FOLDED.get(_folded(name))
    if found is None:
        return None
    what, why, fix = found
    return error("serving-not-modelled", path, f"{what} is not modelled: {why}", fix, value=name)


def check_expert_span(expert: int, gpus_per_node: int, path: str) -> tuple[Finding, ...]:
    """An error where a replica's experts are on more GPUs than one machine has."""
    if expert <= gpus_per_node:
        return ()
    what, why, fix = _WIDE
    text = f"{what} ({expert} ranks, {gpus_per_node} GPUs in one) is not modelled: {why}"
    found = error("serving-not-modelled", path, text, fix, value=expert, limit=gpus_per_node)
    return (found,)
