"""Import of gpufleet beyond `import pulumi`; the budget is 0.15 s."""

import statistics
import subprocess
import sys

from benchmarks.paired import paired


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def measure() -> list[str]:
    """Rows of the report."""
    rows = ["| program | beyond `import pulumi` | ratio |", "|---|---|---|"]
    programs = {
        "`import pulumi, gpufleet`": "import pulumi, gpufleet",
        "`from gpufleet import GpuFleet` next to `import pulumi, pulumi_kubernetes`": (
            "import pulumi, pulumi_kubernetes; from gpufleet import GpuFleet"
        ),
    }
    base = {
        0: "import pulumi",
        1: "import pulumi, pulumi_kubernetes",
    }
    for index, (name, code) in enumerate(programs.items()):
        pairs = paired(lambda code=code: _run(code), lambda index=index: _run(base[index]), 7)
        more = statistics.median(a - b for a, b in zip(pairs.ours, pairs.theirs, strict=True))
        rows.append(f"| {name} | {more * 1000:+.0f} ms | {pairs.ratio:.2f}x |")
    return rows
