"""Options of a pool that its provisioner does not use: they are refused, never dropped."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gpufleet.catalogue.edition import read_rows
from gpufleet.fleet.model import Pool

_rows = cache(read_rows)


def unused_options(pool: Pool, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Section, option and reason of each such option in the pool. `folder` is that of the platform,
    whose `provisioner_options.jsonl` has a row for each provisioner and option."""
    rows: Sequence[Any] = _rows(folder, "provisioner_options")
    for row in rows:
        options: BaseModel | None = getattr(pool.spec, row["section"])
        ours, key = row["provisioner"] == pool.provisioner.value, row["option"]
        if options is not None and ours and key in options.model_fields_set:
            yield row["section"], type(options).model_fields[key].alias or key, row["because"]
