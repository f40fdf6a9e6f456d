"""Memory of serving a model: plain Transformers, or an engine that assigns cache blocks."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpufleet.models.architecture import Architecture, Attention, LatentAttention, LinearMixer
from gpufleet.models.engine_profile import InferenceEngine, profile_of
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS, KvFormat, WeightFormat
from gpufleet.models.kv_cache import round_to_blocks, sequence_bytes
from gpufleet.models.ledger import GIB, INFERENCE_MARGIN, Basis, Item, Ledger, ledger, modelled
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes, weights_per_gpu

TRANSFORMERS_WORKSPACE = GIB * 4 // 100
"""0.04 GiB, fitted to published Transformers measurements (0.3 % on BF16)."""
CUDA_CONTEXT = GIB // 2
"""Context and libraries of one process, outside the framework's counter: 0.3 to 0.6 GiB."""
_MIXTURE_FLOOR = 5 * GIB
_FLOOR_TOKENS, _MOST_TOKENS = 8192, 16_384
"""Tokens of the steps that need so much; Qwen3-235B-A22B in steps of 2,048 had a peak of 1.4 GiB,
sampler and all (see tests/planner/sizing/test_engine_logs.py). Larger steps need more, up to the
tokens that vLLM gives experts at once (vllm/envs.py, VLLM_FUSED_MOE_CHUNK_SIZE)."""
_LARGE_MIXTURE = 50 * 10**9
"""Routed parameters from which an engine needs 5 GiB of activations; below in proportion."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Load of one replica."""

    context: int
    """Longest sequence in tokens, prompt and output together (`max_model_len`)."""
    batch: int = 1
    """Sequences at the same time."""
    prompt_tokens: int | None = None
    """Mean prompt; with `output_tokens` the cache is sized for the mean. None: for `context`."""
    output_tokens: int | None = None
    """Mean output."""
    engine: InferenceEngine = InferenceEngine.VLLM
    weights: WeightFormat = WEIGHT_FORMATS["bf16"]
    kv_cache: KvFormat = KV_FORMATS["bf16"]
    head_apart: bool | None = None
    """Whether the checkpoint stores a tied head; None: as is usual for the format."""
    stored_bytes: int | None = None
    """Bytes of an existing checkpoint in exactly this format; None: computed."""
    utilisation: Fraction | None = None
    """The engine's memory fraction: `gpu_memory_utilization` of vLLM, `free_gpu_memory_fraction` of
    TensorRT-LLM, `mem_fraction_static` of SGLang. None: its default (`memory_fraction`)."""
    batched_tokens: int = 8192
    """`max_num_batched_tokens`: maximum prefill of one step. `max_model_len` without chunking."""
    max_sequences: int = 256
    """`max_num_seqs`: rows of logits the sampler keeps."""
    chunked_prefill: bool = True

    def __hash__(self) -> int:
        # The formats have names: their fractions need not be hashed.
        names = (self.weights.name, self.kv_cache.name)
        return hash((self.context, self.batch, self.prompt_tokens, self.output_tokens, names))

    @property
    def step_tokens(self) -> int:
        """Tokens of the largest forward pass."""
        return self.batched_tokens if self.chunked_prefill else self.context

    @property
    def computes_in_fp32(self) -> bool:
        """Whether activations take four bytes each."""
        return self.weights.name == "fp32"

    @property
    def mean_tokens(self) -> int:
        """Mean number of tokens of a sequence, with 10 % spare; `context` if no mean is stated."""
        if self.prompt_tokens is None or self.output_tokens is None:
            return self.context
        return min(-(-11 * (2 * self.prompt_tokens + self.output_tokens) // 20), self.context)

    @property
    def kept_tokens(self) -> int:
        """Cache tokens that one running sequence occupies: its mean, or its whole length if the
        engine starts only sequences that can end without a pause."""
        prompt, output, mean = self.prompt_tokens, self.output_tokens, self.mean_tokens
        if prompt is None or output is None or self.engine is InferenceEngine.TRANSFORMERS:
            return mean
        whole = prompt + output if profile_of(self.engine).keeps_whole else mean
        return min(max(whole, mean), self.context)


def forward_workspace(
    model: Architecture, tokens: int, tensor: int = 1, *, fp32: bool = False
) -> int:
    """Activations of one forward pass in 16 bit: T*(8h + 2*(2I + d_q + 2*d_kv)/t), the widest
    layer's; twice that in FP32."""
    widest = 0
    for group in model.groups:
        block, mixer = group.feed_forward, group.mixer
        size = 0 if block is None else block.size
        per_token = getattr(block, "per_token", 1)
        shared = getattr(block, "shared_size", 0)
        if isinstance(mixer, LinearMixer):
            width = mixer.width
        else:
            width = mixer.query_width + 2 * mixer.kv_width
        widest = max(widest, 2 * (size * per_token + shared) + width)
    each = 8 * model.hidden + Fraction(2 * widest, tensor)
    return ceil(tokens * (2 * each if fp32 else each))


def workspace_formula(tokens: int, size: int, tensor: int) -> str:
    """The arithmetic of `forward_workspace`, in words and numbers."""
    return f"{tokens} tokens x {size / tokens:,.0f} B = 8h + 2*(2I + d_q + 2*d_kv)/{tensor}"


@lru_cache(maxsize=4096)
def serving_ledger(
    model: Architecture, serving: Serving, parallel: Parallelism | None = None
) -> Ledger:
    """Memory of the fullest GPU of one replica.

    An engine is counted with the cache its target needs, not with all it would reserve: see
    `capacity` for what a given GPU leaves.
    """
    parallel = parallel or Parallelism()
    items = weight_items(model, serving, parallel)
    if serving.engine is InferenceEngine.TRANSFORMERS:
        items += [
            _cache_item(model, serving, parallel),
            Item("workspace", TRANSFORMERS_WORKSPACE, Basis.MEASURED, "0.04 GiB, fitted"),
            context_item(),
        ]
    else:
        items += engine_items(model, serving, parallel)
        items.append(_cache_item(model, serving, parallel))
    return ledger(items, INFERENCE_MARGIN)


def context_item(processes: int = 1) -> Item:
    """The CUDA context, once per process."""
    return Item(
        "cuda_context",
        processes * CUDA_CONTEXT,
        Basis.ASSUMED,
        f"{processes} x 0.5 GiB of context and libraries",
        in_allocator=False,
    )


def weight_items(model: Architecture, serving: Serving, parallel: Parallelism) -> list[Item]:
    """Weights of the fullest GPU, and bitsandbytes' dequantised matrix if it is used."""
    form = serving.weights
    whole = weight_bytes(model, form, serving.head_apart)
    basis = model.basis if serving.stored_bytes is None else Basis.MEASURED
    own = weights_per_gpu(model, whole, parallel)
    if serving.stored_bytes is not None:
        own = -(-own * serving.stored_bytes // whole.stored)
    copy = ceil(whole.working_copy)
    count = count_parameters(model)
    each = f"{float(form.bytes_per_parameter):.4g} B"
    if model.stored is not None and model.stored.form == form.name:
        stored = model.stored.mixers + model.stored.feed_forward + model.stored.experts
        each = f"{float(stored / max(count.matrices, 1)):.4g} B on average, as the file names them"
    return [
        Item(
            "weights",
            own,
            basis,
            f"{count.total} parameters, matrices at {each}, rest at {form.other_bytes} B, fullest "
            f"of {parallel.serving_gpus} GPU",
        ),
        Item("dequantised_matrix", copy, basis, "2 B x largest matrix while it is worked on"),
    ]


def engine_items(model: Architecture, serving: Serving, parallel: Parallelism) -> list[Item]:
    """Memory of an engine besides weights and cache: A and X."""
    tensor = parallel.tensor
    tokens = serving.step_tokens
    part = -(-tokens // parallel.context)
    forward = forward_workspace(model, part, tensor, fp32=serving.computes_in_fp32)
    floor = 0
    experts = count_parameters(model).experts
    if experts:
        part_of = min(Fraction(experts, _LARGE_MIXTURE), Fraction(1))
        floor = ceil(part_of * Fraction(min(part, _MOST_TOKENS), _FLOOR_TOKENS) * _MIXTURE_FLOOR)
    profile = profile_of(serving.engine)
    rows = serving.max_sequences if model.has_head else 0
    if profile.sampler_divided:
        logits = ceil(Fraction(rows * model.vocabulary * profile.sampler_bytes, tensor))
        warmed = f"{rows} rows x {model.vocabulary} x {profile.sampler_bytes} B / {tensor}"
    else:
        logits, warmed = _sampler(model, serving, part, max(forward, floor))
    alone = parallel.serving_gpus == 1
    engine = profile.parallel_bytes
    if alone:
        large = count_parameters(model).total > profile.large_parameters
        engine = profile.large_bytes if large else profile.alone_bytes
    kind = "CUDA context" if alone else "NCCL"
    measured = f"; measured: {profile.spread}" if profile.spread else ""
    return [
        Item(
            "activations",
            max(forward, floor),
            Basis.ASSUMED if floor > forward else modelled(model.basis),
            workspace_formula(tokens, forward, tensor)
            + (
                f", at least {floor / GIB:.2f} GiB by experts and tokens" if floor > forward else ""
            ),
        ),
        Item("logits", logits, modelled(model.basis), warmed),
        Item(
            "engine",
            engine,
            Basis.ASSUMED,
            f"{kind} and CUDA graphs, {engine / GIB:.1f} GiB{measured}",
        ),
    ]


def _sampler(model: Architecture, serving: Serving, tokens: int, before: int) -> tuple[int, str]:
    """Memory of the warm-up of vLLM's sampler above the peak of the forward pass; only the hidden
    states of that pass remain then."""
    rows = serving.max_sequences if model.has_head else 0
    width = 4 if serving.computes_in_fp32 else 2
    each = profile_of(serving.engine).sampler_bytes
    sampler = rows * model.vocabulary * each
    kept = tokens * model.hidden * width
    text = (
        f"{rows} rows x {model.vocabulary} x {each} B + hidden states of {tokens} "
        "tokens, above the activations"
    )
    return (max(sampler + kept - before, 0) if sampler else 0), text


def replica_sequence_bytes(
    model: Architecture, serving: Serving, parallel: Parallelism, tokens: int
) -> int:
    """Cache of one sequence on the fullest GPU, in whole blocks where the engine has blocks."""
    if serving.engine is InferenceEngine.TRANSFORMERS:
        return sequence_bytes(model, serving.kv_cache, tokens, parallel)
    return sequence_bytes(
        model, serving.kv_cache, round_to_blocks(tokens), parallel, serving.step_tokens
    )


def _cache_item(model: Architecture, serving: Serving, parallel: Parallelism) -> Item:
    mean = replica_sequence_bytes(model, serving, parallel, serving.kept_tokens)
    longest = replica_sequence_bytes(model, serving, parallel, serving.context)
    kinds = {type(group.mixer) for group in model.groups}
    return Item(
        "kv_cache",
        max(serving.batch * mean, longest),
        modelled(model.basis) if kinds <= {Attention, LatentAttention} else Basis.ASSUMED,
        f"{serving.batch} x {serving.kept_tokens} tokens in {serving.kv_cache.name}, at least one "
        f"sequence of {serving.context}",
    )
