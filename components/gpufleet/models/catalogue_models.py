"""Rows of the catalogue's model table -> Architecture."""

import re
from dataclasses import replace

from gpufleet.catalogue import Catalogue, Model, UnknownKeyError
from gpufleet.catalogue.lookup import nearest_models
from gpufleet.findings import Finding, findings_in, ordered
from gpufleet.models.architecture import Architecture
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.parameters import count_parameters

_finding = findings_in(__file__)

_TUNED = frozenset({"instruct", "it", "chat", "hf", "base", "pt", "thinking"})
_REVISION = re.compile(r"-(v[0-9]+(\.[0-9]+)?|[0-9]{4})$")
_TOLERANCE = 0.01
"""The table rounds totals to 0.5 %, and small ones to two digits: closer than this the shape is the
better source."""


def find_catalogue_model(
    text: str, catalogue: Catalogue, path: str = "model"
) -> Architecture | Finding:
    """The model with this name: exact, or as the Hugging Face Hub names its releases
    (`meta-llama/Llama-3.1-8B-Instruct`). An unknown one is an error with the nearest names."""
    names = {name.lower(): name for name in catalogue.models}
    for row in catalogue.models.values():
        names |= {one.rpartition("/")[2].lower().removeprefix("meta-"): row.name for one in row.hub}
    plain = _release_words(text)
    found = next((names[name] for name in plain if name in names), text)
    plain = plain[-1]
    try:
        return _architecture(catalogue.model(found), catalogue.edition)
    except UnknownKeyError:
        close = nearest_models(plain, catalogue.models)
        nearest = f"nearest: {', '.join(close)}; or " if close else ""
        return _finding("model-unknown", path, value=text, instead=nearest, nearest=close)


def _release_words(text: str) -> tuple[str, ...]:
    """A name in lower case without its organisation, then without what tells apart releases of one
    shape: how it was tuned, its version or month."""
    whole = text.strip().rpartition("/")[2].lower().removeprefix("meta-")
    tuned = "-".join(part for part in whole.split("-") if part not in _TUNED)
    return whole, tuned, _REVISION.sub("", tuned)


def _architecture(row: Model, edition: str) -> Architecture | Finding:
    """The architecture of one row; an error where an overlay's configuration cannot be read."""
    source = f"catalogue {edition}, {row.source.key} of {row.source.date}"
    model, fields = architecture_from_config(row.config, row.name, source)
    if model is None:
        return ordered(fields.findings)[0]
    counted = count_parameters(model)
    if abs(counted.total - row.parameters) <= _TOLERANCE * row.parameters:
        return model
    note = (
        f"the published total of {row.parameters} parameters is used; the shape alone gives "
        f"{counted.total}"
    )
    return replace(
        model,
        assumptions=(*model.assumptions, note),
        stated_parameters=row.parameters,
        stated_active=row.active_parameters,
    )
