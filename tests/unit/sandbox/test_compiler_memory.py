"""Go's compiler collects no garbage while memory is free."""

import os
from pathlib import Path

import psutil
import pytest

from gpufleet_sandbox.go_build import build_environment


@pytest.mark.parametrize(
    ("free", "chosen", "expected"), [(64, None, "off"), (0, None, None), (64, "50", "50")]
)
def test_the_compiler_uses_free_memory(
    free: int, chosen: str | None, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOGC", raising=False)
    if chosen is not None:
        monkeypatch.setenv("GOGC", chosen)
    memory = psutil.virtual_memory()._replace(available=free * 2**30 * (os.cpu_count() or 1))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    assert build_environment(Path("temporary")).get("GOGC") == expected
