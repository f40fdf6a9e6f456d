"""The docstring of each key of the models: read from the source on request.

pydantic can do this (`use_attribute_docstrings`), but it reads and parses the source of every model
at import; programs that only deploy would pay for that at each start.
"""

import ast
import inspect
import sys
from functools import cache

from pydantic import BaseModel


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Field -> its docstring, including those of the base models."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _of_module(base.__module__).get(base.__qualname__, {})
    return {name: found[name] for name in model.model_fields if name in found}


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """Class -> attribute -> docstring, for every class of a module."""
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    return {node.name: _of_class(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            found[statement.target.id] = inspect.cleandoc(following.value.value)
    return found
