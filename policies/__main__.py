"""Starts the policy pack; everything it validates with is in `gpufleet_policies`."""

from pathlib import Path

from gpufleet_policies.fronts.crossguard import start

start(Path(__file__).parent)
