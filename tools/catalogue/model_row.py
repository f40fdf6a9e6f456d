"""A row of the model table from the model's own files: `python -m tools.catalogue.model_row FOLDER`.

FOLDER holds `config.json`, and if available the index of the checkpoint. Architecture and released
format are read by the reader that sizes users' own configurations; for a file without one of them
the program reports the missing part, so that no row is written from memory.
"""

import json
import sys
from pathlib import Path
from typing import Any

import click

from gpufleet.findings import has_errors
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.config_quantisation import stored_format
from gpufleet.models.formats import KV_FORMATS
from gpufleet.models.kv_cache import token_bytes
from gpufleet.models.parameters import count_parameters

DROPPED = (
    *("_name_or_path", "torch_dtype", "dtype", "transformers_version", "use_cache", "auto_map"),
    *("bos_token_id", "eos_token_id", "pad_token_id", "initializer_range", "attention_dropout"),
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "rope_theta"),
    *("position_embedding_type", "gradient_checkpointing", "id2label", "label2id", "output_past"),
)
"""Keys that no size depends on."""


class NoRowError(ValueError):
    """A file does not have a fact of the row."""


def model_row(
    config: dict[str, Any], name: str, hub: tuple[str, ...], source: str, total: int | None = None
) -> dict[str, Any]:
    """The row. `total`: parameters that the checkpoint's index states; None: those of the shape.

    Raises NoRowError where the architecture or the released format cannot be read.
    """
    model, fields = architecture_from_config(config, name, source)
    if model is None or has_errors(fields.findings):
        problems = "; ".join(finding.message for finding in fields.findings)
        raise NoRowError(f"{name}: its architecture cannot be read: {problems}")
    form = stored_format(fields)
    if has_errors(fields.findings):
        raise NoRowError(f"{name}: its format cannot be read: {fields.findings[-1].message}")
    counted = count_parameters(model)
    kept = {key: value for key, value in config.items() if key not in DROPPED}
    row: dict[str, Any] = {"name": name, "config": kept}
    row["parameters_billion"] = f"{(total or counted.total) / 1e9:.4g}"
    if model.is_mixture:
        row["active_parameters_billion"] = f"{counted.active / 1e9:.3g}"
    row["kv_bytes_per_token"] = int(token_bytes(model, KV_FORMATS["bf16"]))
    row |= {"weights_source": source, "source": source, "hub": list(hub)}
    return row if form in (None, "bf16", "fp16") else {**row, "released_weights": form}


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", required=True, help="Key of the row.")
@click.option("--hub", "hubs", multiple=True, required=True, help="Repositories of this shape.")
@click.option("--source", required=True, help="Key of sources.jsonl.")
def command(folder: Path, name: str, hubs: tuple[str, ...], source: str) -> None:
    """Print the row of a model for models.jsonl."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    index, total = folder / "model.safetensors.index.json", None
    if index.exists():
        metadata = json.loads(index.read_text("utf-8")).get("metadata", {})
        total = metadata.get("total_parameters")
    try:
        print(json.dumps(model_row(config, name, hubs, source, total)))
    except NoRowError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    command()
