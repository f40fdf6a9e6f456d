"""What a configuration has next to its language model: vision towers, projectors, other parts."""

from gpufleet.findings import findings_in
from gpufleet.models.config_fields import ConfigFields
from gpufleet.models.config_keys import parts_not_understood
from gpufleet.models.model_families import TOWERS, VISION_GATED

_finding = findings_in(__file__)

_SMALL = 0.02
"""Part of the language model that a tower of an unknown kind may have: half of it is an error below
the 3 % that sizes are right within."""


def tower_parameters(whole: ConfigFields, hidden: int, text: int, notes: list[str]) -> int:
    """Parameters of everything next to a language model of `text` parameters.

    A part without a formula is noted as an error, and a tower of an unknown kind where its estimate
    is no small part of the model.
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
    whole.findings.append(
        _finding(
            "config-part-not-understood", name, text=whole.text("model_type"), what=what, value=name
        )
    )


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


def _projector(vision: ConfigFields, width: int, hidden: int) -> int:
    """Between tower and language model: patches are merged by fours and projected twice, or where
    nothing says that they are merged, projected once."""
    merge = vision.number("spatial_merge_size")
    if merge is None:
        return width * hidden + (hidden * hidden if vision.text("model_type") == "pixtral" else 0)
    merged = merge * merge * width
    each = merged * (merged + hidden)
    deep = len(vision.numbers("deepstack_visual_indexes"))
    return (1 + deep) * each
