"""The model of a user's text: a catalogue name, a parameter count, or a checkpoint on disk
(config.json, and the safetensors index or headers in its folder).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from gpufleet.catalogue import Catalogue
from gpufleet.documents.limits import fault
from gpufleet.findings import Finding, FleetError, findings_in, has_errors
from gpufleet.models.architecture import Architecture
from gpufleet.models.catalogue_models import find_catalogue_model
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.config_quantisation import stored_format
from gpufleet.models.formats import WEIGHT_FORMATS, named_format
from gpufleet.models.ledger import Basis
from gpufleet.models.parameters import count_parameters
from gpufleet.models.stated_size import from_parameter_count, stated_parameters
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.sizing.request import SizedWorkload

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model and the facts of its checkpoint beyond the shape."""

    architecture: Architecture
    weight_format: str | None = None
    """Format the checkpoint on disk is stored in; None: not known, 16 bit is the default."""
    head_apart: bool | None = None
    """Whether the checkpoint stores a tied head; None: not known."""
    stored_bytes: int | None = None
    """Bytes of the weights on disk; None: unknown."""
    findings: tuple[Finding, ...] = ()
    released_weights: str | None = None
    """Format its maker publishes the model in, to be served as it is; None: 16 bit."""
    hub: tuple[str, ...] = ()
    """Repositories of the Hugging Face Hub with this model, the first-named one first; empty:
    unknown."""

    def default_weights(self, workload: SizedWorkload) -> str | None:
        """Default format of the weights; None: 16 bit.

        Full training updates 16-bit weights; adapters freeze the weights on disk, and of a model
        that is only named its 16-bit form, as tuning libraries unpack released weights.
        """
        if workload in (SizedWorkload.FULL_FINE_TUNING, SizedWorkload.PRE_TRAINING):
            return None
        return self.weight_format or (None if workload.trains else self.released_weights)


def choose_model(
    text: str, catalogue: Catalogue, active_parameters: str | None = None
) -> ChosenModel | tuple[Finding, ...]:
    """The named model, or every error that prevents finding it.

    An existing path that ends in `.json`, or a folder written with a slash, is a checkpoint; `8B`
    and `350M` are counts; every other text is a name of the catalogue.
    """
    place = Path(text)
    if text.endswith(".json") or (("/" in text or text.startswith(".")) and place.is_dir()):
        try:
            return read_checkpoint(place)
        except FleetError as problem:
            return problem.findings
    count = stated_parameters(text)
    if count is None:
        return _named(text, catalogue)
    active = None if active_parameters is None else stated_parameters(active_parameters)
    if active_parameters is not None and (active is None or active > count):
        return (
            _finding("active-parameters-invalid", value=active_parameters, limit=count, model=text),
        )
    model = from_parameter_count(count, active)
    return ChosenModel(
        model,
        findings=(
            _finding("model-shape-assumed", value=text, assumptions="; ".join(model.assumptions)),
        ),
    )


@lru_cache(maxsize=512)
def _named(text: str, catalogue: Catalogue) -> ChosenModel | tuple[Finding, ...]:
    """A model of the catalogue by its name or a release's, which may end in its format."""
    found = find_catalogue_model(text, catalogue)
    if not isinstance(found, Finding):
        row = catalogue.model(found.name)
        # The repositories, the one whose name was written first.
        name = text.strip().rpartition("/")[2].lower()
        hub = sorted(row.hub, key=lambda one: one.rpartition("/")[2].lower() != name)
        return ChosenModel(found, released_weights=row.released_weights, hub=tuple(hub))
    suffixed = named_format(text)
    inside = None if suffixed is None else find_catalogue_model(suffixed[0], catalogue)
    if suffixed is None or inside is None or isinstance(inside, Finding):
        return (found,)
    form = suffixed[1]
    noted = _finding("model-format-from-name", value=text, weights=form, model=inside.name)
    return ChosenModel(inside, findings=(noted,), released_weights=form)


MAX_CONFIG_BYTES = 4 << 20
MAX_INDEX_BYTES = 64 << 20
"""Largest index and largest safetensors header that is read."""
MAX_SHARDS = 1000
_DIFFERENCE = 0.02
"""Stored and computed size may differ by this much before it is worth a word."""


def read_checkpoint(path: Path) -> ChosenModel | tuple[Finding, ...]:
    """The model of a `config.json` or of the folder that holds one.

    Where the weights' index or headers exist, tie flag and size come from them (`measured`). All
    errors are returned together; no value is guessed. Raises FleetError for an unreadable file.
    """
    file = path / "config.json" if path.is_dir() else path
    data = _read_json(file, MAX_CONFIG_BYTES)
    if "weight_map" in data:
        return (_finding("config-is-index", value=str(file), file=file),)
    separate = file.parent / "hf_quant_config.json"  # ModelOpt writes it
    if "quantization_config" not in data and separate.is_file():
        found = _read_json(separate, MAX_CONFIG_BYTES)
        data = {**data, "quantization_config": found.get("quantization")}
    name = str(data.get("_name_or_path") or "") or file.resolve().parent.name
    model, fields = architecture_from_config(data, name, str(file))
    form = stored_format(fields)
    stored = None
    try:
        stored = read_stored_weights(file.parent)
    except FleetError as problem:
        fields.findings += problem.findings
    if model is None or has_errors(fields.findings):
        return tuple(fields.findings)
    if stored is None:
        return ChosenModel(model, form, findings=tuple(fields.findings))
    kind = WEIGHT_FORMATS[form or "bf16"]
    size, has_head = stored
    apart = has_head and model.tied_embeddings
    if not kind.quantised and model.has_head:
        model = replace(model, tied_embeddings=not has_head)
        apart = False
    computed = weight_bytes(model, kind, apart).stored
    findings = fields.findings
    if abs(computed - size) > _DIFFERENCE * size:
        findings.append(_finding("checkpoint-size-differs", value=size, computed=computed))
    model = replace(model, basis=Basis.MEASURED)
    if not kind.quantised:
        total = size // kind.other_bytes
        counted = count_parameters(model)
        active = counted.active + (0 if counted.experts else total - counted.total)
        model = replace(model, stated_parameters=total, stated_active=max(active, 1))
    return ChosenModel(model, form, apart, size, tuple(findings))


def _read_json(path: Path, limit: int, *, header: bool = False) -> Mapping[str, Any]:
    """A file, or the header of a safetensors file: its length in eight bytes, then JSON."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little") if header else limit
            if not 2 <= length <= limit:
                raise _unreadable(path, f"a header of {length} bytes is not valid")
            text = file.read(length + (not header))
        if not header and len(text) > limit:
            raise _unreadable(path, f"larger than the limit of {limit} bytes")
        data: object = json.loads(text)
    except OSError as problem:
        raise _unreadable(path, problem.strerror or str(problem)) from None
    except FleetError:
        raise
    except (ValueError, RecursionError) as problem:
        raise _unreadable(path, f"not valid JSON: {fault(problem)}") from None
    if not isinstance(data, dict):
        raise _unreadable(path, "not a JSON object")
    return cast("dict[str, Any]", data)


def _unreadable(path: Path, why: str) -> FleetError:
    return FleetError([_finding("checkpoint-unreadable", value=str(path), file=path, why=why)])


def read_stored_weights(folder: Path) -> tuple[int, bool] | None:
    """Bytes of the weights and whether the output projection is stored, from the index, else from
    the headers of the weight files; None without either. Raises FleetError."""
    for index in sorted(folder.glob("*.safetensors.index.json")):
        data = _read_json(index, MAX_INDEX_BYTES)
        match data:
            case {"metadata": {"total_size": int(size)}, "weight_map": dict()} if size > 0:
                return size, _has_head(data["weight_map"])
            case _:
                raise _unreadable(index, "an index has metadata.total_size and weight_map")
    files = sorted(folder.glob("*.safetensors"))[:MAX_SHARDS]
    if not files:
        return None
    total = 0
    names: set[str] = set()
    for file in files:
        for name, entry in _read_json(file, MAX_INDEX_BYTES, header=True).items():
            if name == "__metadata__" or not isinstance(entry, dict):
                continue
            match cast("dict[str, object]", entry):
                case {"data_offsets": [int(first), int(last)]} if 0 <= first <= last:
                    total += last - first
                    names.add(name)
                case _:
                    raise _unreadable(file, f"tensor {name} has no data_offsets")
    if total == 0:
        raise _unreadable(files[0], "the weight files have no tensor")
    return total, _has_head(names)


def _has_head(names: Iterable[str]) -> bool:
    return any(name.endswith("lm_head.weight") for name in names)
