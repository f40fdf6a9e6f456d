"""A Hugging Face configuration -> Architecture."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpufleet.findings import has_errors
from gpufleet.models.architecture import Architecture, LayerGroup
from gpufleet.models.config_blocks import (
    read_block_configs,
    read_blocks,
    read_single_blocks,
    with_parallel_mixers,
)
from gpufleet.models.config_fields import ConfigFields, not_understood, parts_not_understood
from gpufleet.models.config_mixers import read_mixers, rotary_bytes
from gpufleet.models.config_quantisation import quantisation_of
from gpufleet.models.config_stored import expert_format, stored_matrices
from gpufleet.models.ledger import Basis
from gpufleet.models.model_families import (
    DEFAULTS,
    ENCODER_DECODERS,
    ENCODERS,
    FIELDS,
    KNOWN,
    NOT_READ,
    TIED,
    TOWERS,
    VISION_GATED,
)
from gpufleet.models.parameters import count_parameters

MAX_LAYERS = 4096
_HEADLESS = ("Model", "ForSequenceClassification", "ForTokenClassification")
_WITH_HEAD = ("LMHeadModel", "DoubleHeadsModel")
"""Ends of architecture names in Transformers: `GPT2Model` has no vocabulary projection,
`GPT2LMHeadModel` and `QWenLMHeadModel` have one."""


def architecture_from_config(
    data: Mapping[str, Any], name: str, source: str
) -> tuple[Architecture | None, ConfigFields]:
    """The shape a configuration describes, with the fields it was read from and every problem.

    Text models, and the language part of vision-language models with their vision tower estimated.
    Encoder-decoders and diffusion models are refused: the formulas do not reach them.
    """
    whole = ConfigFields(data)
    text = _language_part(whole)
    family = text.text("model_type") or whole.text("model_type")
    if whole.flag("is_encoder_decoder") or "_class_name" in data or family in ENCODER_DECODERS:
        whole.say("model-kind-unsupported", family=family or "this model", value=family)
        return None, whole
    if not family:
        whole.say("config-field-missing/model-type")
        return None, whole
    kinds = {family, whole.text("model_type")} & NOT_READ.keys()
    if kinds:
        for kind in kinds:
            whole.say("model-kind-unsupported/known", value=kind, not_read=NOT_READ[kind])
        return None, whole
    hidden = text.required("hidden_size", "n_embd", "dim", "d_model")
    singles = read_single_blocks(text, hidden)
    if singles is None:
        singles = read_block_configs(text, hidden)
    layers = len(singles) if singles else text.required(*FIELDS["layers"])
    vocabulary = text.required("vocab_size", "padded_vocab_size")
    if layers > MAX_LAYERS:
        text.say("config-field-invalid/layers", value=layers, limit=MAX_LAYERS)
        return None, whole
    if singles is None:
        mixers = read_mixers(text, layers, hidden)
        pairs = list(zip(mixers, read_blocks(text, mixers, hidden), strict=False))
        singles = with_parallel_mixers(text, pairs, hidden)
    if has_errors(whole.findings):
        return None, whole
    layers_of = Counter(singles)
    encoder = family in ENCODERS
    other = _other_parameters(text, hidden, encoder)
    notes: list[str] = []
    tied = _tied(whole, text, family, notes)
    model = Architecture(
        name=name,
        hidden=hidden,
        vocabulary=vocabulary,
        tied_embeddings=tied,
        groups=tuple(
            LayerGroup(count, mixer, block) for (mixer, block), count in layers_of.items()
        ),
        basis=Basis.MODELLED if family in KNOWN else Basis.ASSUMED,
        source=source,
        assumptions=tuple(notes),
        layer_norm=text.has("layer_norm_epsilon", "layer_norm_eps", "norm_epsilon")
        and not text.has("rms_norm_eps"),
        causal=not encoder,
        has_head=not encoder and _generates(text, whole),
        other_parameters=other,
        rotary_bytes=rotary_bytes(text, {mixer for mixer, _ in singles}),
        max_context=text.number("max_position_embeddings", "n_positions", "seq_length"),
    )
    towers = tower_parameters(whole, hidden, count_parameters(model).total, notes)
    quantisation = quantisation_of(whole)
    if quantisation is not None:
        expert_format(text)
    whole.findings += not_understood(text, family)
    if has_errors(whole.findings):
        return None, whole
    stored = None
    if quantisation is not None:
        stored = stored_matrices(text, quantisation, singles, hidden)
    complete = replace(
        model,
        other_parameters=other + towers,
        tower_parameters=towers,
        image_bytes=_image_bytes(whole.part("vision_config")),
        assumptions=tuple(notes),
        stored=stored,
    )
    return complete, whole


def _language_part(whole: ConfigFields) -> ConfigFields:
    """Fields of the language model, completed by the defaults of its family if it is a part of a
    larger model."""
    for name in ("text_config", "llm_config"):
        part = whole.part(name)
        if part is not None:
            missing = DEFAULTS.get(part.text("model_type"), {})
            return ConfigFields({**missing, **part.data}, part.path, part.findings)
    return whole


def _generates(text: ConfigFields, whole: ConfigFields) -> bool:
    """Whether the model has a vocabulary projection: by its architecture's name, that of its
    language part first (`InternVLChatModel` generates by an `InternLM2ForCausalLM`)."""
    names = text.texts("architectures") or whole.texts("architectures")
    if not names:
        return True
    return not all(name.endswith(_HEADLESS) and not name.endswith(_WITH_HEAD) for name in names)


def _tied(whole: ConfigFields, text: ConfigFields, family: str, notes: list[str]) -> bool:
    # The outer flag of a composite counts (huggingface/transformers 5.23, `tie_weights`).
    # LFM2 writes tie_embedding.
    names = ("tie_word_embeddings", "tie_embedding")
    flags = [part.flag(name) for part in (whole, text) for name in names]
    for flag in flags:
        if flag is not None:
            return flag
    tied = family.startswith(TIED)
    notes.append(f"the configuration does not say whether the head is tied: {tied} assumed")
    return tied


def _other_parameters(text: ConfigFields, hidden: int, encoder: bool) -> int:
    """Parameters of position embeddings, and of inputs of each layer."""
    other = 0
    rotary = text.has(
        "rope_theta",
        "rope_parameters",
        "global_rope_theta",
        "rotary_emb_base",
        "rotary_emb_fraction",
        "rope_scaling",
    )
    absolute = encoder and not rotary
    if absolute or text.text("model_type") in ("gpt2", "opt", "gpt_bigcode"):
        positions = text.number("max_position_embeddings", "n_positions") or 0
        other += hidden * (positions + (text.number("type_vocab_size", least=0) or 0))
    if absolute:
        other += _bert_extras(text, hidden)
    return other + _per_layer_inputs(text, hidden)


def _per_layer_inputs(text: ConfigFields, hidden: int) -> int:
    """Embeddings of each token for each layer, and their projections (Gemma 3n and 4)."""
    each = text.number("hidden_size_per_layer_input", least=0) or 0
    layers = text.number(*FIELDS["layers"]) or 0
    words = text.number("vocab_size_per_layer_input") or text.number("vocab_size") or 0
    return layers * each * (words + 3 * hidden) if each else 0


def _bert_extras(text: ConfigFields, hidden: int) -> int:
    """Parameters of BERT encoders besides their matrices: biases, shifts of the norms, the norm of
    the embeddings, the pooler."""
    layers = text.number("num_hidden_layers") or 0
    size = text.number("intermediate_size") or 4 * hidden
    return layers * (7 * hidden + size) + hidden + hidden * (hidden + 1)


_SMALL = 0.02
"""Part of the language model that a tower of an unknown kind may have: half of it is an error below
the 3 % that sizes are right within."""


def tower_parameters(whole: ConfigFields, hidden: int, text: int, notes: list[str]) -> int:
    """Parameters of everything next to a language model of `text` parameters.

    A part without a formula is reported as an error, and so is a tower of an unknown kind if its
    estimate is a large part of the model.
    """
    # Parts of image preprocessing, not of the model.
    _ = [whole.part(name) for name in ("img_token_compression_config",)]
    vision = whole.part("vision_config")
    size = 0 if vision is None else _vision_tower(whole, vision, hidden, notes)
    kind = "" if vision is None else vision.text("model_type") or whole.text("model_type")
    if size > _SMALL * text and not kind.startswith(TOWERS):
        _refuse(whole, "vision_config", f"a vision tower of kind {kind!r}")
    for name in parts_not_understood(whole):
        _refuse(whole, name, "a part of the model")
    return size


def _refuse(whole: ConfigFields, name: str, what: str) -> None:
    text = whole.text("model_type")
    whole.say("config-part-not-understood", name, text=text, what=what, value=name)


def _vision_tower(whole: ConfigFields, vision: ConfigFields, hidden: int, notes: list[str]) -> int:
    """Parameters of a vision tower and its projector, by estimate."""
    # Where both are there (Qwen2-VL), hidden_size is the language model's.
    width = vision.number("embed_dim", "vt_hidden_size", "hidden_size", "width")
    depth = vision.number("num_hidden_layers", "vt_num_hidden_layers", "depth", "layers")
    if width is None or depth is None:
        notes.append("the vision tower is not counted: its sizes are not in the configuration")
        return 0
    kinds = (whole.text("model_type"), vision.text("model_type"))
    gated = any(kind.startswith(VISION_GATED) for kind in kinds)
    size = vision.number("intermediate_size", "vt_intermediate_size") or 4 * width
    patch = vision.number("patch_size") or 14
    blocks = depth * (4 * width * width + (3 if gated else 2) * width * size)
    image = vision.number("image_size")
    positions = (image // patch) ** 2 * width if image is not None and not gated else 0
    shape = "gated" if gated else "plain"
    notes.append(
        f"vision tower estimated from its configuration ({shape} blocks, projector); image tokens "
        "count as context"
    )
    return blocks + positions + 3 * patch * patch * width + _projector(vision, width, hidden)


_IMAGE_PATCHES = 65_536
"""Patches of the largest image of Qwen3-VL and Qwen3.5: 16,777,216 pixels (`longest_edge` of their
preprocessor_config.json), four patches for a token."""


def _image_bytes(vision: ConfigFields | None) -> int:
    """16-bit activations at the feed-forward of a block, and the pixels of two frames
    (vllm-project/vllm @ 4f5768c, `Qwen3_VisionBlock`)."""
    if vision is None or not vision.text("model_type").startswith(("qwen3_vl", "qwen3_5")):
        return 0
    width, size = vision.required("hidden_size"), vision.required("intermediate_size")
    return 2 * _IMAGE_PATCHES * (2 * width + 2 * size + 6 * vision.required("patch_size") ** 2)


def _projector(vision: ConfigFields, width: int, hidden: int) -> int:
    """Between tower and language model: patches are merged by fours and projected twice, or
    projected once if no field states a merge."""
    merge = vision.number("spatial_merge_size")
    if merge is None:
        return width * hidden + (hidden * hidden if vision.text("model_type") == "pixtral" else 0)
    merged = merge * merge * width
    each = merged * (merged + hidden)
    deep = len(vision.numbers("deepstack_visual_indexes"))
    return (1 + deep) * each
