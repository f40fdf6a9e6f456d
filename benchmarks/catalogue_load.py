"""Loading the catalogue; the budgets are 10 ms for GPUs with MIG and 60 ms for every table."""

from benchmarks.paired import seconds
from gpufleet.catalogue import load
from gpufleet.catalogue.catalogue import Catalogue


def _gpus(catalogue: Catalogue) -> int:
    return len(catalogue.gpus)


def _everything(catalogue: Catalogue) -> int:
    tables = (catalogue.gpus, catalogue.instances, catalogue.models, catalogue.charts)
    return sum(map(len, (*tables, catalogue.images)))


def measure() -> list[str]:
    """Rows of the report."""
    base = load()
    rows = ["| read | fastest of 9 |", "|---|---|"]
    for name, work in (("GPUs with MIG", _gpus), ("every table", _everything)):
        fastest = min(
            seconds(lambda work=work: work(Catalogue(base.edition, base.folder))) for _ in range(9)
        )
        rows.append(f"| {name} | {fastest * 1000:.1f} ms |")
    return rows
