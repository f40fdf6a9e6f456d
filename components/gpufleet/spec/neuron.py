"""Unit that a pool of Trainium or Inferentia assigns."""

from enum import StrEnum

from gpufleet.spec.base import SpecModel


class NeuronUnit(StrEnum):
    """Unit that pods of a pool request. The device plugin publishes both on every node for the same
    hardware: a pool that assigned both would assign each device twice."""

    DEVICE = "device"
    """`aws.amazon.com/neuron`: whole devices, with all their cores."""
    CORE = "core"
    """`aws.amazon.com/neuroncore`: single cores."""


class NeuronOptions(SpecModel):
    """Trainium and Inferentia."""

    unit: NeuronUnit = NeuronUnit.DEVICE
    """Default device."""
