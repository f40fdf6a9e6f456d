"""What components take: the FleetSpec's parts as TypedDicts, in the spelling of Python.

Pulumi's component host reads the package schema from these annotations and docstrings, and hands
arguments over as dicts. What the values may be is decided by the models of `gpufleet.spec` alone;
a test holds names, optionality and texts of both together.
"""

from gpufleet.arguments.addons import AddonsArgs, ChartsArgs
from gpufleet.arguments.pool import GpuPoolArgs

__all__ = ["AddonsArgs", "ChartsArgs", "GpuPoolArgs"]
