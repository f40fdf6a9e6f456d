"""What a pool of Trainium or Inferentia hands out."""

from enum import StrEnum

from gpufleet.spec.base import SpecModel


class NeuronUnit(StrEnum):
    """What pods of a pool ask for. The device plugin publishes both on every node, and they are the
    same hardware: a pool that handed out both would promise it twice."""

    DEVICE = "device"
    """`aws.amazon.com/neuron`: whole devices, with all their cores."""
    CORE = "core"
    """`aws.amazon.com/neuroncore`: single cores."""


class NeuronOptions(SpecModel):
    """Trainium and Inferentia."""

    unit: NeuronUnit = NeuronUnit.DEVICE
    """Default device."""
