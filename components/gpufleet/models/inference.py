"""Memory of serving a model: plain Transformers, or an engine that assigns cache blocks."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpufleet.catalogue.serving_engine import CacheRule
from gpufleet.models.architecture import (
    Architecture,
    Attention,
    ExpertFeedForward,
    LatentAttention,
    LinearMixer,
)
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
    head_apart: bool = False
    """Whether a head that the model ties is loaded too: Transformers does where it is stored, and
    engines never do (`tie_word_embeddings` in models/qwen3.py of vLLM and of SGLang)."""
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
    graphs: bool = True
    """Whether the engine captures CUDA graphs."""

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
    layer's, routed experts apart (`experts_workspace`); twice that in FP32."""
    widest = 0
    for group in model.groups:
        block, mixer = group.feed_forward, group.mixer
        size = 0 if block is None else getattr(block, "shared_size", block.size)
        if isinstance(mixer, LinearMixer):
            width = mixer.width
        else:
            width = mixer.query_width + 2 * mixer.kv_width
        widest = max(widest, 2 * size + width)
    each = 8 * model.hidden + Fraction(2 * widest, tensor)
    return ceil(tokens * (2 * each if fp32 else each))


def experts_workspace(model: Architecture, tokens: int, tensor: int = 1) -> int:
    """Buffers of the routed experts of a layer in 16 bit, which an engine keeps and all layers
    share: T*2k*(max(I/t, h) + max(2I/t, h)). 0: a dense model.

    vllm-project/vllm @ 001cabc, `TritonExperts.workspace_shapes` and `v1/worker/workspace.py`.
    """
    widest = Fraction(0)
    for group in model.groups:
        block = group.feed_forward
        if isinstance(block, ExpertFeedForward):
            hidden, inner = block.latent or model.hidden, Fraction(block.size, tensor)
            both = max(inner, hidden) + max(inner * (2 if block.gated else 1), hidden)
            widest = max(widest, block.per_token * both)
    return ceil(2 * tokens * widest)


def indexer_workspace(model: Architecture, context: int) -> int:
    """Keys that vLLM gathers for indexers next to latent attention, in the memory of the experts:
    40 for each token of the context, in FP8 with a scale (vllm-project/vllm v1/attention/backends/
    mla/indexer.py, `get_max_prefill_buffer_size`). 0: no indexer."""
    mixers = [g.mixer for g in model.groups if isinstance(g.mixer, LatentAttention)]
    widths = [mixer.index_dim + 4 for mixer in mixers if mixer.index_dim]
    return 40 * context * max(widths, default=0)


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


def context_item() -> Item:
    """The CUDA context of one process."""
    return Item(
        "cuda_context",
        CUDA_CONTEXT,
        Basis.ASSUMED,
        "1 x 0.5 GiB of context and libraries",
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
    experts = experts_workspace(model, part, tensor)
    profile = profile_of(serving.engine)
    if profile.cache_rule is CacheRule.GPU:
        experts = max(experts, indexer_workspace(model, serving.context))
    logits, warmed = _sampler(model, serving, part, forward, tensor)
    alone = parallel.serving_gpus == 1
    own = profile.alone_bytes if serving.graphs else profile.eager_bytes
    engine = own if alone else profile.parallel_bytes
    tables = model.rotary_bytes if profile.cache_rule is CacheRule.GPU else 0
    graphs = "CUDA context" if alone else "NCCL"
    apart = alone and not serving.graphs and profile.eager_bytes < profile.alone_bytes
    graphs += f"{'' if apart else ' and CUDA graphs'}, {engine / GIB:.1f} GiB"
    graphs += f"; measured: {profile.spread}" if profile.spread else ""
    graphs += f"; {tables / GIB:.2f} GiB of sines and cosines" if tables else ""
    formula = workspace_formula(tokens, forward, tensor)
    if experts:
        formula += f", and {experts / GIB:.2f} GiB of buffers for experts and indexers"
    return [
        Item("activations", forward + experts, modelled(model.basis), formula),
        Item("logits", logits, modelled(model.basis), warmed),
        _image_item(model, serving, part, tensor, forward + experts + logits),
        Item("engine", engine + tables, Basis.ASSUMED, graphs),
    ]


_IMAGE_TOKENS = 16_384
"""Tokens of an image of the largest size."""


def _image_item(model: Architecture, serving: Serving, tokens: int, tensor: int, own: int) -> Item:
    """What images of the largest size, as many as a step has room for and at least one
    (`MultiModalBudget`), take above the language model's `own` pass. vLLM runs one after the other,
    and keeps only the output of the first (vllm-project/vllm `GPUModelRunner.profile_run`)."""
    profiles = profile_of(serving.engine).cache_rule is CacheRule.GPU
    images = max(tokens // _IMAGE_TOKENS, 1) if profiles else 0
    size = ceil(Fraction(images * model.image_bytes, tensor))
    text = f"{images} of {_IMAGE_TOKENS} tokens in the vision tower / {tensor}, above that"
    return Item("images", max(size - own, 0), Basis.ASSUMED, text)


def _sampler(
    model: Architecture, serving: Serving, tokens: int, before: int, tensor: int
) -> tuple[int, str]:
    """Memory of the sampler: of vLLM's warm-up above the peak of the forward pass, as only the
    hidden states of that pass remain then."""
    profile = profile_of(serving.engine)
    rows = serving.max_sequences if model.has_head else 0
    sampler = rows * model.vocabulary * profile.sampler_bytes
    text = f"{rows} rows x {model.vocabulary} x {profile.sampler_bytes} B"
    if profile.sampler_divided or not sampler:
        return ceil(Fraction(sampler, tensor)), f"{text} / {tensor}"
    kept = tokens * model.hidden * (4 if serving.computes_in_fp32 else 2)
    text += f" + hidden states of {tokens} tokens, above the activations"
    return max(sampler + kept - before, 0), text


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
