"""Runs the program of tools/nvidia-parsers: the results of NVIDIA's own parsers for documents."""

import json
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.engine.conftest import require

MIG_PARTED = "v0.13.1"
DEVICE_PLUGIN = "v0.19.0"
"""Releases that tools/nvidia-parsers/go.mod pins."""


@cache
def _asked(requests: str) -> tuple[dict[str, Any], ...]:
    program = require(("nvidia-parsers",))["nvidia-parsers"]
    answer = subprocess.run(
        [str(program)], input=requests, capture_output=True, text=True, timeout=120, check=True
    )
    return tuple(json.loads(line) for line in answer.stdout.splitlines())


def ask(requests: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """One result per request, in order, from one process; skips when the program is not built.

    Request: `kind` (mig-parted, device-plugin, yaml), `text`, `args`. Result: `verdict` (accept,
    reject, panic), `error`, `read`.
    """
    return _asked("\n".join(json.dumps(request) for request in requests))
