"""Pools the rendering tests share: one per way of sharing."""

from typing import Any

from gpufleet.catalogue import Gpu, load
from gpufleet.partition.partition import Partition, cut
from gpufleet.spec.sharing import Sharing

DECLARATIONS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "training": ("H100-80GB", 8, {"exclusive": {}}),
    "chat": ("L4", 4, {"timeSlicing": {"replicas": 4}}),
    "visible": ("L4", 1, {"timeSlicing": {"replicas": 2, "rename": False}}),
    "embed": ("L4", 1, {"mps": {"replicas": 8}}),
    "notebooks": (
        "A100-80GB",
        8,
        {
            "mig": {
                "strategy": "mixed",
                "layouts": [
                    {"gpus": 4, "devices": {"1g.10gb": 7}},
                    {"gpus": 3, "devices": {"3g.40gb": 1, "2g.20gb": 2}},
                ],
            }
        },
    ),
    "small": (
        "A30-24GB",
        2,
        {"mig": {"strategy": "single", "layouts": [{"devices": {"1g.6gb": 4}}]}},
    ),
    "turns": (
        "A100-80GB",
        2,
        {
            "mig": {
                "strategy": "mixed",
                "layouts": [{"gpus": 1, "devices": {"1g.10gb": 4, "3g.40gb": 1}}],
                "timeSlicing": {"replicas": 3},
            }
        },
    ),
    "graphics": (
        "RTX-PRO-6000-BLACKWELL-96GB",
        1,
        {"mig": {"layouts": [{"devices": {"1g.24gb+me.all": 1, "1g.24gb-me": 3}}]}},
    ),
}


def pool(name: str) -> tuple[Gpu, Partition]:
    key, count, sharing = DECLARATIONS[name]
    gpu = load().gpu(key)
    partition, findings = cut(gpu, count, Sharing.model_validate(sharing), f"{name}.sharing")
    assert partition is not None, findings
    return gpu, partition
