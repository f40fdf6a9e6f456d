"""The components for programs in other languages: `pulumi package add <repository>/components`."""

import json
from pathlib import Path

import gpufleet
from gpufleet.hosting import VERSION, serve
from gpufleet_policies.gpu_admission_policies import GpuAdmissionPolicies

NAME = "gpufleet"
COMPONENTS = [getattr(gpufleet, name) for name in gpufleet.__all__ if not name.endswith("Args")]
COMPONENTS.append(GpuAdmissionPolicies)  # next to the rules, which import `gpufleet`
# Of the release: empty ones are left out of the schema.
ADDRESSES = json.loads(Path(__file__).with_name("addresses.json").read_text(encoding="utf-8"))

if __name__ == "__main__":
    serve(COMPONENTS, NAME, VERSION, ADDRESSES)
