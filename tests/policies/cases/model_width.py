"""Cases of rules/model_width.py."""

from gpufleet_policies.rules.rule import Level
from tests.policies.cases.case import Case, fleet_thing
from tests.policies.cases.workloads import CONTAINER, LIMITS, SHARED_MEMORY, deployment

NEED = 'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"'
TRAINING = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
NO_SLICES = fleet_thing(
    {"pools[0].sharing": {"exclusive": {}}, "pools[1].sharing": {"exclusive": {}}}
)


def serving(gpus: str, need: str, width: int):
    """A server with so many GPUs for one copy of a model with this need."""
    return deployment(
        {
            "spec.replicas": 1,
            **SHARED_MEMORY,
            LIMITS: {"nvidia.com/gpu": gpus},
            f"{CONTAINER}.args": ["--tensor-parallel-size", str(width)],
            NEED: need,
            **TRAINING,
        }
    )


CASES = (
    Case(
        "premium-gpu-for-small-model",
        serving("1", "60", 1),
        serving("1", "30", 1),
        "a card of 44.7 GiB holds it with a fifth to spare. Instead: use 1 x L40S",
        alongside=(NO_SLICES,),
    ),
    Case(
        "tensor-parallel-wider-than-needed",
        serving("2", "100", 2),
        serving("2", "60", 2),
        "spreads one copy of the model over 2 x H100-80GB",
        Level.ADVISORY,
        alongside=(NO_SLICES,),
    ),
)
