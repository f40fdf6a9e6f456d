"""The bill of materials of the Go programs that the sandbox builds: modules, pins and licences."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from gpufleet_sandbox.programs import PROGRAMS, SANDBOX_PROGRAMS, SandboxProgram
from release.reproducible import ROOT

REQUIRED = re.compile(r"^(?:require )?\s*(\S+\.\S+) (v\S+)(?: // indirect)?$", re.MULTILINE)
REPLACED = re.compile(r"^(?:replace )?\s*(\S+)(?: v\S+)? => (\S+)(?: (v\S+))?$", re.MULTILINE)
WORDS = {
    "Apache-2.0": r"Apache License\s+Version 2\.0",
    "MPL-2.0": r"Mozilla Public License,? [Vv]ersion 2\.0",
    "MIT": r"Permission is hereby granted, free of charge",
    "ISC": r"Permission to use, copy, modify, and(?:/or)? distribute",
    "BSD-3-Clause": r"Redistribution and use[\s\S]*(?:endorse or promote|Neither the name)",
    "BSD-2-Clause": r"Redistribution and use in source and binary forms",
}
"""SPDX identifier -> words of the licence, the first that are found."""


def write_go_components(target: Path, version: str) -> None:
    """Write CycloneDX 1.6 as JSON: each program of the sandbox and the modules that it is made of.

    A licence is that of the file in the module, where the module is in Go's cache; the property
    `gpufleet:licence` says where it was not looked at.
    """
    sums = {
        (module, pin): check
        for folder in _folders()
        for module, pin, check in map(str.split, (folder / "go.sum").read_text().splitlines())
    }
    pins = sorted({one for folder in _folders() for one in _modules(folder)})
    cache = _cache()
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "name": "gpufleet-sandbox", "version": version}
        },
        "components": [
            *(
                {
                    "type": "application",
                    "name": program.name,
                    "version": program.version,
                    "purl": f"pkg:golang/{program.package}@v{program.version}",
                }
                for program in _programs()
                if program.package != "."
            ),
            *(_component(module, pin, sums.get((module, pin)), cache) for module, pin in pins),
        ],
    }
    target.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _programs() -> list[SandboxProgram]:
    return [PROGRAMS[name] for name in SANDBOX_PROGRAMS]


def _folders() -> list[Path]:
    return sorted({ROOT / "tools" / program.module for program in _programs()})


def _modules(folder: Path) -> list[tuple[str, str]]:
    text = (folder / "go.mod").read_text(encoding="utf-8")
    replaced = {name: (by, pin) for name, by, pin in REPLACED.findall(text)}
    found = [replaced.get(name, (name, pin)) for name, pin in REQUIRED.findall(text)]
    return [(name, pin) for name, pin in found if pin]  # without: a folder of ours


def _cache() -> Path | None:
    go = shutil.which("go")
    if go is None:
        return None
    command = [go, "env", "GOMODCACHE"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def _component(module: str, pin: str, check: str | None, cache: Path | None) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "name": module,
        "version": pin,
        "purl": f"pkg:golang/{module}@{pin}",
    }
    properties = [{"name": "gpufleet:go.sum", "value": check}] if check else []
    licence = _licence(module, pin, cache)
    if licence is None:
        properties.append({"name": "gpufleet:licence", "value": "not looked at"})
    else:
        component["licenses"] = [{"license": {"id": licence}}]
    return {**component, "properties": properties} if properties else component


def _licence(module: str, pin: str, cache: Path | None) -> str | None:
    """SPDX identifier of a module in the cache; None: no file of it is known."""
    if cache is None:
        return None
    # Go writes a capital letter as `!` and its small one.
    folder = cache / (re.sub("[A-Z]", lambda found: f"!{found[0].lower()}", module) + f"@{pin}")
    files = sorted(folder.iterdir()) if folder.is_dir() else ()
    for file in files:
        if not file.name.lower().startswith(("licen", "copying")):
            continue
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        for identifier, words in WORDS.items():
            if re.search(words, text):
                return identifier
    return None
