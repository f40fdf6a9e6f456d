"""The same for files that other people wrote, and for faults that are planted into them."""

import copy
from pathlib import Path

import pytest
import yaml

from gpufleet.documents.limits import UnreadableDocumentError
from tests.corpus.audits import CORPORA, needs_corpora
from tests.corpus.test_planted import FAULTS, PLANTED, edit
from tests.policies.differential.fronts import answers
from tests.policies.differential.samples import Sample, resources_of
from tests.policies.differential.test_fronts import unexpected
from tests.reading import yaml_documents

pytestmark = [pytest.mark.nightly, needs_corpora]


def different(name: str, text: str, folder: Path) -> list[str]:
    """Differences of the fronts for a file."""
    sample = Sample(name, "public", "", text, {}, resources_of("", text))
    return unexpected(answers(sample, folder).differences)


@pytest.mark.parametrize("folder", sorted(p.name for p in CORPORA.glob("*") if p.is_dir()))
def test_the_fronts_say_the_same_of_public_files(folder: str, tmp_path: Path) -> None:
    files = [one for one in sorted((CORPORA / folder).rglob("*.y*ml")) if one.is_file()]
    found = {}
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if "{{" not in text:  # no program has a template
            found[str(file.relative_to(CORPORA))] = different(file.name, text, tmp_path)
    assert {name: differ for name, differ in found.items() if differ} == {}


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_the_fronts_say_the_same_of_planted_faults(number: int, tmp_path: Path) -> None:
    fault = FAULTS[number]
    name = PLANTED["files"][fault["file"]]
    documents = copy.deepcopy(list(yaml_documents((CORPORA / name).read_text())))
    for path, value in fault["edits"].items():
        edit(documents, path, value)
    text = yaml.safe_dump_all(documents, sort_keys=False)
    try:
        assert different(Path(name).name, text, tmp_path) == []
    except UnreadableDocumentError:
        pytest.fail("a planted fault cannot be read")
