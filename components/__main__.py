"""The components for programs in other languages: `pulumi package add <repository>/components`."""

import gpufleet
from gpufleet.hosting import VERSION, serve
from gpufleet_policies.gpu_admission_policies import GpuAdmissionPolicies

NAME = "gpufleet"
COMPONENTS = [getattr(gpufleet, name) for name in gpufleet.__all__ if not name.endswith("Args")]
COMPONENTS.append(GpuAdmissionPolicies)  # next to the rules, which import `gpufleet`

if __name__ == "__main__":
    serve(COMPONENTS, NAME, VERSION)
