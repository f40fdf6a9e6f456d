"""What a pool of Trainium or Inferentia assigns."""

from enum import StrEnum

from gpufleet.spec.base import SpecModel


class NeuronUnit(StrEnum):
    """What pods of a pool ask for. The device plugin publishes both on every node, and they are the
    same hardware: a pool that assigned both would promise it twice."""

    DEVICE = "device"
    """`aws.amazon.com/neuron`: whole devices, with all their cores."""
    CORE = "core"
    """`aws.amazon.com/neuroncore`: single cores."""


class NeuronOptions(SpecModel):
    """Trainium and Inferentia."""

    unit: NeuronUnit = NeuronUnit.DEVICE
    """Default device."""
