"""Loading: cheap, shared, immutable, safe in threads."""

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpufleet.catalogue import (
    DEFAULT_EDITION,
    Catalogue,
    UnknownEditionError,
    UnknownKeyError,
    editions,
    load,
)
from gpufleet.catalogue.edition import edition_folder


def fresh() -> Catalogue:
    return Catalogue(DEFAULT_EDITION, edition_folder(DEFAULT_EDITION))


def test_an_edition_is_loaded_once() -> None:
    assert load() is load(DEFAULT_EDITION)
    assert load().gpus is load().gpus


def test_an_unknown_edition_lists_those_there_are() -> None:
    with pytest.raises(UnknownEditionError) as caught:
        load("2026.12")
    assert str(caught.value) == f"no catalogue edition '2026.12'; there is {', '.join(editions())}"
    assert isinstance(caught.value, UnknownKeyError)


@pytest.mark.parametrize("name", ["", "..", "../2026.11", "/etc", "2026.11/", "2026.11\0"])
def test_an_edition_is_a_name_and_no_path(name: str) -> None:
    with pytest.raises(UnknownEditionError):
        load(name)


def test_an_edition_says_when_it_was_made() -> None:
    about = load("2026.11").about
    assert (about.edition, about.date.isoformat()) == ("2026.11", "2026-11-30")


def test_importing_reads_no_data() -> None:
    program = (
        "import sys\n"
        "seen = []\n"
        "sys.addaudithook(lambda name, args: name == 'open' and seen.append(str(args[0])))\n"
        "import gpufleet.catalogue\n"
        "assert not [path for path in seen if '/data/' in path], seen\n"
        "assert 'pydantic' not in sys.modules and 'yaml' not in sys.modules\n"
        "gpufleet.catalogue.load().gpus\n"
        "read = {path.rsplit('/', 1)[1] for path in seen if '/data/' in path}\n"
        "names = ('drivers', 'gpus', 'idle-power', 'mig', 'sources', 'vgpu')\n"
        "tables = {name + '.jsonl' for name in names}\n"
        "assert read == tables, read\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_threads_may_ask_at_once() -> None:
    catalogue = fresh()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: catalogue.instance("p5.48xlarge"), range(64)))
    assert set(answers) == {load().instance("p5.48xlarge")}


def test_tables_and_rows_cannot_change() -> None:
    catalogue = load()
    gpu = catalogue.gpu("A100-80GB")
    assert gpu.mig is not None
    with pytest.raises(TypeError, match="read-only"):
        catalogue.gpus["mine"] = gpu  # type: ignore[index]
    with pytest.raises(TypeError, match="read-only"):
        gpu.mig.balanced.clear()  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="read-only"):
        gpu.rates.update({})  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        gpu.key = "other"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        catalogue.edition = "other"  # type: ignore[misc]


def test_rows_can_be_hashed_copied_and_written() -> None:
    gpu = load().gpu("RTX-PRO-6000-BLACKWELL-96GB")
    assert pickle.loads(pickle.dumps(gpu)) == gpu
    assert copy.deepcopy(gpu) == gpu
    assert hash(gpu) == hash(copy.deepcopy(gpu))
    written = json.loads(json.dumps(dataclasses.asdict(gpu), default=str))
    assert written["mig"]["profiles"]["1g.24gb+me"]["starts"] == [0, 3, 6, 9]


def test_memory_of_a_device() -> None:
    catalogue = load()
    mib = 2**20
    assert catalogue.device_memory(catalogue.instance("p5.48xlarge")) == 81559 * mib
    assert catalogue.device_memory(catalogue.instance("g6f.2xlarge")) == 5722 * mib
    assert catalogue.device_memory(catalogue.instance("g4-standard-12")) == 97887 * mib // 4
    assert catalogue.device_memory(catalogue.instance("ct3-hightpu-4t")) is None


def test_profile_spellings() -> None:
    profiles = load().gpu("RTX-PRO-6000-BLACKWELL-96GB").mig.profiles  # type: ignore[union-attr]
    assert profiles["1g.24gb+me.all"].attributes == {"+me.all"}
    assert profiles["2g.48gb-me"].attributes == {"-me"}
    assert profiles["4g.96gb"].attributes == frozenset()
    assert profiles["1g.24gb+gfx"].resource == "nvidia.com/mig-1g.24gb.gfx"


def test_what_no_edition_prices_is_unknown() -> None:
    price = load().instance("p5.48xlarge").price("capacityBlock")
    assert price.offer == "unknown"
    assert price.usd_per_hour is None
