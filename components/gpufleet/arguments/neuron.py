"""Inputs of components: what restates `gpufleet.spec.neuron`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import NeuronUnitWord


class NeuronOptionsArgs(TypedDict):
    """Trainium and Inferentia."""

    unit: NotRequired[NeuronUnitWord]
    """One of `device`, `core`. Default device."""
