"""Write the schemas of the catalogue from the vendors' definitions, without their prose.

    python tools/schemas/generate.py --crds DIR --charts DIR [--openapi DIR] [--modules DIR]

`--crds` is a folder of CustomResourceDefinition files of the releases in `sources.py`, `--charts`
one of values files of the charts in `charts.py`. `--openapi` is needed for Kubernetes' own kinds
alone, whose files stay as they are without it: a folder with the documents that a kube-apiserver
of the release in `kubernetes_kinds.py` serves below `/openapi/v3`, started with
`--runtime-config=api/beta=true`; `apis/apps/v1` is `apis__apps__v1_openapi.json` there. (The files
in Kubernetes' repository lack the enumerations.) `--modules` is Go's module cache (default: `go env
GOMODCACHE`), where the definitions of modules lie. Reads files only.
"""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from charts import CHARTS, chart_file
from custom_resources import definitions, group_file
from device_selectors import plugin_configs_file
from kubernetes_fields import fields_file
from kubernetes_kinds import kubernetes_file, metadata_file
from pruning import Schema
from scaling_charts import SCALING_CHARTS
from sources import SOURCES

ROOT = Path(__file__).parents[2]
OUT = ROOT / "components/gpufleet/catalogue/data/2026.11/schemas"


def write(name: str, content: Schema) -> None:
    """One file, one line for each kind and part, so that changes can be read."""
    lines = [f'"source":{compact(content["source"])}']
    for part in ("kinds", "$defs"):
        entries = ",\n".join(f"{json.dumps(k)}:{compact(v)}" for k, v in content[part].items())
        lines.append(f'"{part}":{{\n{entries}\n}}')
    (OUT / f"{name}.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    """Write every file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--crds", type=Path, required=True)
    arguments.add_argument("--charts", type=Path, required=True)
    arguments.add_argument("--openapi", type=Path)
    arguments.add_argument("--modules", type=Path)
    options = arguments.parse_args()
    modules = options.modules or Path(
        subprocess.run(
            ["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True
        ).stdout.strip()
    )
    OUT.mkdir(parents=True, exist_ok=True)
    if options.openapi is not None:
        core = kubernetes_file(options.openapi)
        write("kubernetes", core)
        write("metadata", metadata_file(core))
    core = json.loads((OUT / "kubernetes.json").read_text(encoding="utf-8"))
    for name, source in SOURCES.items():
        write(name, group_file(source, definitions(source, options.crds, modules, core)))
    for name, chart in {**CHARTS, **SCALING_CHARTS}.items():
        content = compact(chart_file(chart, options.charts, modules))
        (OUT / f"chart-{name}.json").write_text(content + "\n", encoding="utf-8")
    content = compact(fields_file(modules, core))
    (OUT / "kubernetes-fields.json").write_text(content + "\n", encoding="utf-8")
    content = compact(plugin_configs_file(options.charts))
    (OUT / "webhook-configs.json").write_text(content + "\n", encoding="utf-8")
    lines = ",\n".join(f"{json.dumps(k)}:{compact(v)}" for k, v in index().items())
    (OUT / "index.json").write_text("{" + lines + "}\n", encoding="utf-8")


def index() -> dict[str, dict[str, str]]:
    """API version -> kind -> name of the file that has its schema, Kubernetes' own first."""
    found: dict[str, dict[str, str]] = {}
    core = json.loads((OUT / "kubernetes.json").read_text(encoding="utf-8"))
    for version, kinds in core["kinds"].items():
        found[version] = dict.fromkeys(kinds, "kubernetes")
    for name in SOURCES:
        content = json.loads((OUT / f"{name}.json").read_text(encoding="utf-8"))
        for kind, described in content["kinds"].items():
            for version in described["versions"]:
                found.setdefault(f"{described['group']}/{version}", {})[kind] = name
    return found


if __name__ == "__main__":
    main()
