"""What someone wrote -> a model: a catalogue name, a checkpoint on disk, a parameter count."""

from dataclasses import dataclass
from pathlib import Path

from gpufleet.catalogue import Catalogue
from gpufleet.findings import Finding, error, info
from gpufleet.models.architecture import Architecture
from gpufleet.models.catalogue_models import find_catalogue_model, named_format
from gpufleet.models.stated_size import from_parameter_count, stated_parameters
from gpufleet_planner.sizing.request import SizedWorkload


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model and what its checkpoint says beyond the shape."""

    architecture: Architecture
    weight_format: str | None = None
    """Format the checkpoint on disk is stored in; None: not known, 16 bit is the default."""
    head_apart: bool | None = None
    """Whether the checkpoint stores a tied head; None: not known."""
    stored_bytes: int | None = None
    """Bytes of the weights on disk; None: not known."""
    findings: tuple[Finding, ...] = ()
    released_weights: str | None = None
    """Format its maker publishes the model in, to be served as it is; None: 16 bit."""
    hub: tuple[str, ...] = ()
    """Repositories of the Hugging Face Hub with this model, the one that was named first; empty:
    none is known."""

    def default_weights(self, workload: SizedWorkload) -> str | None:
        """Format of the weights where no one states one; None: 16 bit.

        Full training updates 16-bit weights; adapters freeze what lies on disk, and of a model
        that is only named its 16-bit form, as tuning libraries unpack what was released.
        """
        if workload in (SizedWorkload.FULL_FINE_TUNING, SizedWorkload.PRE_TRAINING):
            return None
        return self.weight_format or (None if workload.trains else self.released_weights)


def choose_model(
    text: str, catalogue: Catalogue, active_parameters: str | None = None
) -> ChosenModel | tuple[Finding, ...]:
    """The model someone means, or every error that keeps it from being known.

    Something that exists on disk and ends in `.json`, or is a folder written with a slash, is a
    checkpoint; `8B` and `350M` are counts; everything else is a name of the catalogue.
    """
    place = Path(text)
    if text.endswith(".json") or (("/" in text or text.startswith(".")) and place.is_dir()):
        from gpufleet_planner.sizing.checkpoint import read_checkpoint

        return read_checkpoint(place)
    count = stated_parameters(text)
    if count is None:
        return _named(text, catalogue)
    active = None if active_parameters is None else stated_parameters(active_parameters)
    if active_parameters is not None and (active is None or active > count):
        return (
            error(
                "active-parameters-invalid",
                "activeParameters",
                f"{active_parameters!r} is not a parameter count of at most {text}",
                "write a count such as 3B",
                value=active_parameters,
                limit=count,
            ),
        )
    model = from_parameter_count(count, active)
    return ChosenModel(
        model,
        findings=(
            info(
                "model-shape-assumed",
                "model",
                f"only the parameter count is known; assumed: {'; '.join(model.assumptions)}",
                "name the model or give its config.json for modelled figures",
                value=text,
            ),
        ),
    )


def _named(text: str, catalogue: Catalogue) -> ChosenModel | tuple[Finding, ...]:
    """A model of the catalogue by its name or a release's, which may end in its format."""
    found = find_catalogue_model(text, catalogue)
    if not isinstance(found, Finding):
        row = catalogue.model(found.name)
        return ChosenModel(found, released_weights=row.released_weights, hub=_hub(text, row.hub))
    told = named_format(text)
    inside = None if told is None else find_catalogue_model(told[0], catalogue)
    if told is None or inside is None or isinstance(inside, Finding):
        return (found,)
    form = told[1]
    noted = info(
        "model-format-from-name",
        "model",
        f"{text!r} is read as {inside.name} in {form}: its name ends so",
        "give its config.json for measured sizes, or state `weights`",
        value=text,
        weights=form,
    )
    return ChosenModel(inside, findings=(noted,), released_weights=form)


def _hub(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The repositories, the one whose name was written first."""
    name = text.strip().rpartition("/")[2].lower()
    return tuple(sorted(known, key=lambda one: one.rpartition("/")[2].lower() != name))
