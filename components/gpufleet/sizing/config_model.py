"""A Hugging Face configuration -> Architecture."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpufleet.findings import Finding, error
from gpufleet.sizing.architecture import Architecture, LayerGroup
from gpufleet.sizing.config_blocks import read_blocks
from gpufleet.sizing.config_fields import Fields
from gpufleet.sizing.config_mixers import read_mixers
from gpufleet.sizing.ledger import Basis
from gpufleet.sizing.model_families import ENCODERS, TIED

MAX_LAYERS = 4096


def architecture_from_config(
    data: Mapping[str, Any], name: str, source: str
) -> tuple[Architecture | None, Fields]:
    """The shape a configuration describes, with the fields it was read from and every problem.

    Text models, and the language part of vision-language models with their vision tower estimated.
    Encoder-decoders and diffusion models are refused: the formulas do not reach them.
    """
    whole = Fields(data)
    text = whole.part("text_config") or whole.part("llm_config") or whole
    family = text.text("model_type") or whole.text("model_type")
    if whole.flag("is_encoder_decoder") or "_class_name" in data or "d_model" in text.data:
        whole.findings.append(_unreachable(family))
        return None, whole
    if not family:
        whole.findings.append(
            error("config-field-missing", "model_type", "the configuration has no model_type")
        )
        return None, whole
    layers = text.required("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    hidden = text.required("hidden_size", "n_embd", "dim")
    vocabulary = text.required("vocab_size", "padded_vocab_size")
    if layers > MAX_LAYERS:
        whole.findings.append(
            error(
                "config-field-invalid",
                f"{text.path}num_hidden_layers",
                f"{layers} layers; at most {MAX_LAYERS} are read",
                value=layers,
                limit=MAX_LAYERS,
            )
        )
        return None, whole
    mixers = read_mixers(text, layers, hidden)
    blocks = read_blocks(text, layers, hidden)
    if any(finding.severity == "error" for finding in whole.findings):
        return None, whole
    kinds = Counter(zip(mixers, blocks, strict=True))
    encoder = family in ENCODERS
    other, notes = _other_parameters(whole, text, hidden, encoder)
    tied = _tied(whole, text, family, notes)
    model = Architecture(
        name=name,
        hidden=hidden,
        vocabulary=vocabulary,
        tied_embeddings=tied,
        groups=tuple(LayerGroup(count, mixer, block) for (mixer, block), count in kinds.items()),
        basis=Basis.MODELLED,
        source=source,
        assumptions=tuple(notes),
        layer_norm=text.has("layer_norm_epsilon", "layer_norm_eps", "norm_epsilon")
        and not text.has("rms_norm_eps"),
        causal=not encoder,
        has_head=not encoder and _generates(whole),
        other_parameters=other,
        max_context=text.number("max_position_embeddings", "n_positions", "seq_length"),
    )
    return model, whole


def _unreachable(family: str) -> Finding:
    return error(
        "model-kind-unsupported",
        "model_type",
        f"{family or 'this model'} is no decoder or encoder of text alone: the formulas do not "
        "reach encoder-decoders and diffusion models",
        "give the parameter count, and add the activations from a measurement",
        value=family,
    )


def _generates(config: Fields) -> bool:
    """Whether the model has a vocabulary projection: by its architecture's name."""
    names = config.texts("architectures")
    if not names:
        return True
    return not all(
        name.endswith(("Model", "ForSequenceClassification", "ForTokenClassification"))
        for name in names
    )


def _tied(whole: Fields, text: Fields, family: str, notes: list[str]) -> bool:
    flags = (text.flag("tie_word_embeddings"), whole.flag("tie_word_embeddings"))
    for flag in flags:
        if flag is not None:
            return flag
    tied = family.startswith(TIED)
    notes.append(f"the configuration does not say whether the head is tied: {tied} assumed")
    return tied


def _other_parameters(
    whole: Fields, text: Fields, hidden: int, encoder: bool
) -> tuple[int, list[str]]:
    """Position embeddings, vision and audio towers, with what was assumed about them."""
    notes: list[str] = []
    other = 0
    if encoder or text.text("model_type") in ("gpt2", "opt", "gpt_bigcode"):
        positions = text.number("max_position_embeddings", "n_positions") or 0
        other += hidden * (positions + (text.number("type_vocab_size", least=0) or 0))
    vision = whole.part("vision_config")
    if vision is not None:
        width = vision.number("hidden_size", "embed_dim", "width")
        depth = vision.number("num_hidden_layers", "depth", "layers")
        if width is None or depth is None:
            notes.append("the vision tower is not counted: its sizes are not in the configuration")
        else:
            size = vision.number("intermediate_size") or 4 * width
            patch = vision.number("patch_size") or 14
            other += depth * (4 * width * width + 3 * width * size) + 3 * patch * patch * width
            other += hidden * (4 * width + hidden)
            notes.append(
                "vision tower estimated from its configuration (gated blocks, projector); "
                "image tokens count as context"
            )
    if whole.part("audio_config") is not None:
        notes.append("the audio tower is not counted")
    return other, notes
