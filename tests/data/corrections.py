"""Facts of the collected tables that later sources corrected: the edition has the later ones.

(row, column) -> the source that the edition's row names. `tests/data/test_reference.py` compares
everything else.
"""

NO_LONGER_LAUNCHABLE = (
    "dl1.24xlarge", "g2.2xlarge", "g2.8xlarge", "g3.16xlarge", "g3.4xlarge", "g3.8xlarge",
    "g3s.xlarge", "p2.16xlarge", "p2.8xlarge", "p2.xlarge", "p3.2xlarge", "p3.8xlarge",
    "p3.16xlarge",
)  # fmt: skip
"""AWS types that Karpenter's tables dropped; their price became a list price."""

CORRECTED: dict[tuple[str, str], str] = {
    **{("dl1.24xlarge", column): "karpenter" for column in ("efa", "disk")},
    **{
        (name, "network"): "karpenter-aws-tables"
        for name in (
            "g7.2xlarge", "g7.4xlarge", "g7.8xlarge", "dl1.24xlarge", "p3.2xlarge", "p3.8xlarge",
            "p3.16xlarge", "g3.4xlarge", "g3.8xlarge", "g3.16xlarge",
        )
    },
    **{
        (name, column): "karpenter-aws-docs"
        for name in NO_LONGER_LAUNCHABLE
        for column in ("notes", "on_demand", "spot", "spot_advisor")
    },
    **{
        (f"ct{kind}t", "spot"): "skypilot"
        for kind in (
            "6e-standard-1", "6e-standard-4", "6e-standard-8", "5p-hightpu-4", "5lp-hightpu-1",
            "5lp-hightpu-4", "5lp-hightpu-8",
        )
    },
    **{
        (f"a2-{kind}-{count}g", "network"): "gcp-gpu-types"
        for kind in ("highgpu", "ultragpu")
        for count in (1, 2, 4)
    },
    **{
        (name, "network"): "gcp-gpu-types"
        for name in (
            "g2-standard-4", "g2-standard-8", "g2-standard-12", "g2-standard-16",
            "g2-standard-24", "g2-standard-32", "g2-standard-48", "g4-standard-6",
            "g4-standard-12", "g4-standard-24", "g4-standard-48", "g4-standard-96",
            "g4-standard-192", "a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g",
        )
    },
    **{(f"vt1.{size}xlarge", "count"): "ec2-accelerated" for size in (3, 6, 24)},
    **{
        (f"n1-standard-*+nvidia-tesla-{gpu}", "network"): "gcp-gpu-network"
        for gpu in ("t4x1", "t4x2", "v100x1", "v100x2", "v100x4")
    },
    **{
        ("A100-80GB", f"{profile} memory"): "lgipp-a100-80"
        for profile in ("1g.10gb", "1g.10gb+me", "7g.80gb")
    },
    **{
        ("A30-24GB", f"{profile} memory"): "mig-lgip-a30"
        for profile in ("1g.6gb", "1g.6gb+me", "2g.12gb", "2g.12gb+me", "4g.24gb")
    },
    ("B200-180GB", "2g.45gb engines"): "mig-guide",
    **{
        ("RTX-PRO-6000-BLACKWELL-96GB", f"{profile} engines"): "lgipp-rtx-pro-6000"
        for profile in (
            "1g.24gb", "1g.24gb+me", "1g.24gb+gfx", "1g.24gb+me.all", "1g.24gb-me", "2g.48gb",
            "2g.48gb+gfx", "2g.48gb+me.all", "2g.48gb-me", "4g.96gb", "4g.96gb+gfx",
        )
    },
    **{
        (gpu, "min_driver"): "mig-guide-r620"
        for gpu in (
            "A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H100-94GB", "H100-96GB",
            "H20-96GB", "H200-141GB", "B200-180GB", "GB200-186GB", "B300-269GB",
            "RTX-PRO-6000-BLACKWELL-96GB",
        )
    },
    ("H100-96GB", "boards"): "mig-parted-default",
    ("RTX-PRO-6000-BLACKWELL-96GB", "boards"): "nvidia-smi-memory",
    ("RTX-PRO-6000-BLACKWELL-96GB", "rates"): "rtx-pro-6000-evidence",
    **{(name, "active"): "gpt-oss-card" for name in ("gpt-oss-20b", "gpt-oss-120b")},
    **{
        (f"Gemma-3-{size}b", column): "hf-configs-maxtext"
        for size in (4, 12, 27)
        for column in ("parameters", "active")
    },
    **{(f"Llama-4-{name}", "parameters"): "transformers" for name in ("Scout", "Maverick")},
}  # fmt: skip

ADDED_MODELS = {
    "bge-large-en-v1.5", "bge-m3", "all-MiniLM-L6-v2", "Qwen3-Coder-480B-A35B",
    "Qwen3-Next-80B-A3B", "Qwen3.5-397B-A17B", "Qwen3.5-35B-A3B",
    "Qwen3-VL-2B", "Qwen3-VL-4B", "Qwen3-VL-30B-A3B", "Qwen3-VL-235B-A22B", "Olmo-3-7B",
    "Olmo-3-32B", "DeepSeek-V3.2", "GLM-5", "GLM-5.2", "Kimi-K2-Instruct", "Kimi-K2-Thinking",
    "Kimi-K2.5", "GLM-4.7", "GLM-4.7-Flash", "MiniMax-M2", "Cosmos3-Super-Reasoner",
    "Ministral-3-3B", "Gemma-4-31B", "Gemma-4-26B-A4B", "Nemotron-H-8B",
}  # fmt: skip
"""Models that the collected tables do not have; their rows have the sizes of a config.json."""

ADDED_TYPES = {"p6e-gb300.36xlarge", "a4x-maxgpu-4g-metal-nolssd", "ct4p-hightpu-4t"}
"""Machine types that the collected tables do not have."""

ADDED_GPUS = ("H20-96GB", "H20-141GB")
"""GPUs that the collected tables had within the row of another, or not at all."""


FURTHER_SOURCES = {"GB300-278GB": ("dgx-spark-playbooks",)}
"""Sources of MIG rows that were found after the tables were collected."""


def same(row: str, column: str) -> bool:
    """Whether the collected table still holds for a column of a row."""
    return (row, column) not in CORRECTED
