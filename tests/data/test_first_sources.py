"""No row rests first on a document that a reader cannot find."""

from gpufleet.catalogue import editions, load
from tests.data.first_sources import NOT_FOUND, kind_of
from tests.data.test_tables import sources_of


def test_every_rows_first_source_can_be_found() -> None:
    for edition in editions():
        catalogue = load(edition)
        lost = {
            name: catalogue.sources[source.key].location
            for name, source in sources_of(catalogue)
            if kind_of(catalogue.sources[source.key]) is None
        }
        assert lost == {}


def test_other_sources_can_be_found_but_for_recalled_figures() -> None:
    for edition in editions():
        sources = load(edition).sources.values()
        assert {source.key for source in sources if kind_of(source) is None} == NOT_FOUND


def test_profiles_without_a_listing_of_placements_say_that_these_are_inferred() -> None:
    """Published `nvidia-smi mig -lgipp` output or NVML tables exist for these GPUs only."""
    listed = {
        "A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H100-94GB",
        "RTX-PRO-6000-BLACKWELL-96GB",
    }  # fmt: skip
    for gpu in load().gpus.values():
        if gpu.mig is not None:
            evidence = {profile.evidence.value for profile in gpu.mig.profiles.values()}
            assert (evidence == {"verified"}) == (gpu.key in listed), gpu.key
