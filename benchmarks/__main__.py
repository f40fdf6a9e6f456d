"""`python -m benchmarks [NAME ...]`: measure and write docs/benchmarks.md."""

import importlib
import platform
import sys
import time
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BENCHMARKS = {
    "compile_fleet": "Compile",
    "catalogue_load": "Catalogue",
    "placement": "MIG placement",
    "packing": "Packing",
    "packing_exact": "Packing against exhaustive search",
    "trace": "Placing a trace",
    "planner": "Planner",
    "aiconfigurator": "Compared with AIConfigurator",
    "import_time": "Import",
    "preview": "Preview overhead",
    "vsphere_nodes": "Machines on vCenter",
    "policies": "Policies",
}
NEEDS_ANOTHER_PROGRAM = "aiconfigurator"
"""Imported by name: AIConfigurator is not a dependency."""


def main() -> None:
    names = sys.argv[1:] or [name for name in BENCHMARKS if name != NEEDS_ANOTHER_PROGRAM]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    parts = _kept_parts()
    for name in names:
        print(f"==> {name}", file=sys.stderr)
        module = importlib.import_module(f"benchmarks.{name}")
        rows = "\n".join(module.measure())
        description = " ".join((module.__doc__ or "").split())
        made = (
            f"Made by `python -m benchmarks {name}` on {time.strftime('%Y-%m-%d', time.gmtime())}, "
        )
        made += f"{platform.machine()}, Python {platform.python_version()}."
        parts[name] = f"## {BENCHMARKS[name]}\n\n{description}\n\n{rows}\n\n{made}\n"
        print(rows)
    body = "\n".join(f"<!-- {name} -->\n{parts[name]}" for name in BENCHMARKS if name in parts)
    PAGE.write_text(
        "# Benchmarks\n\nRatios of paired runs; absolute times depend on the machine and are "
        "context only. `make bench` makes this page.\n\n" + body,
        encoding="utf-8",
    )


def _kept_parts() -> dict[str, str]:
    """Results that earlier runs wrote for benchmarks that are not part of this run."""
    if not PAGE.is_file():
        return {}
    pieces = PAGE.read_text(encoding="utf-8").split("<!-- ")[1:]
    return {p.split(" -->")[0]: p.split(" -->\n", 1)[1].rstrip() + "\n" for p in pieces}


if __name__ == "__main__":
    main()
