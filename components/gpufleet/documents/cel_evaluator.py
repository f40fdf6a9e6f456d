"""The evaluator of CEL expressions, without the command line that its package imports with it."""

import sys
from functools import cache
from types import ModuleType
from typing import Any


@cache
def cel() -> Any:
    """The module `cel`, imported where there is something to evaluate.

    Its `__init__` imports `cel.cli`, and that a toolkit for terminals: nine tenths of the time.
    An empty module stands in its place, unless somebody has imported the real one.
    """
    sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))
    import cel as module

    return module
