"""The components for programs in other languages: `pulumi package add <repository>/components`."""

import gpufleet
from gpufleet.hosting import serve
from gpufleet_policies.gpu_admission_policies import GpuAdmissionPolicies

NAME = "gpufleet"
VERSION = "0.1.0"
PYTHON_ONLY = {"VsphereGpuNodeGroup"}
"""Its machines belong to a Python dynamic provider, which the engine cannot run for a component
host."""
COMPONENTS = [
    getattr(gpufleet, name)
    for name in gpufleet.__all__
    if name not in PYTHON_ONLY and not name.endswith("Args")
]
COMPONENTS.append(GpuAdmissionPolicies)  # next to the rules, which import `gpufleet`

if __name__ == "__main__":
    serve(COMPONENTS, NAME, VERSION)
