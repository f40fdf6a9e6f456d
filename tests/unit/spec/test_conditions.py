"""Rows of `conditions.jsonl`: fields of a model that must not be together."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from gpufleet import spec
from gpufleet.catalogue.edition import read_rows
from gpufleet.findings.rows import FACT
from gpufleet.spec.base import SpecModel

FOLDER = Path(str(spec.__path__[0]))
ROWS = read_rows(FOLDER, "conditions")


def models(kind: type[SpecModel] = SpecModel) -> Iterator[type[SpecModel]]:
    for one in kind.__subclasses__():
        yield one
        yield from models(one)


def test_every_row_names_one_model_and_fields_that_it_has() -> None:
    for module in walk_packages(spec.__path__, "gpufleet.spec."):
        import_module(module.name)
    named: dict[str, set[type[SpecModel]]] = {}
    for kind in models():
        named.setdefault(kind.__name__, set()).add(kind)
    assert ROWS
    for row in ROWS:
        (kind,) = named[row["of"]]
        cases = row["when"] if isinstance(row["when"], list) else [row["when"]]
        paths = [path for case in cases for path in case]
        paths += [
            limit.removeprefix("=")
            for case in cases
            for test in case.values()
            if isinstance(test, dict)
            for limit in test.values()
            if isinstance(limit, str) and limit.startswith("=")
        ]
        values = row.get("values", {})
        paths += [values.get(found[1], found[1]) for found in FACT.finditer(row["message"])]
        for path in paths:
            first = path.partition(".")[0]
            assert first in kind.model_fields or hasattr(kind, first), (row["of"], path)
