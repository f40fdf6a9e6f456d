"""Inputs of components that restate `gpufleet.spec.neuron`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict


class NeuronOptionsArgs(TypedDict):
    """Trainium and Inferentia."""

    unit: NotRequired[str]
    """One of `device`, `core`. Default device."""
