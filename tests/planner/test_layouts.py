from gpufleet.catalogue import load
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.planning.layouts import MOST_STRANDED, lay_out_nodes

CATALOGUE = load()
A100 = CATALOGUE.gpu("A100-80GB")


def test_the_published_example_fills_eight_gpus() -> None:
    found = lay_out_nodes(A100, {"1g.10gb": 16, "2g.20gb": 8, "3g.40gb": 8}, 8)
    assert found is not None
    assert (found.nodes, found.gpus_cut, found.bound) == (1, 8, 8)
    assert {k: found.offered[k] >= n for k, n in {"1g.10gb": 16, "2g.20gb": 8}.items()}


def test_nodes_are_alike_and_offer_enough() -> None:
    for wanted in ({"1g.10gb": 100}, {"3g.40gb": 5, "4g.40gb": 1}, {"1g.20gb": 9, "2g.20gb": 3}):
        for gpus in (1, 2, 4, 8):
            found = lay_out_nodes(A100, wanted, gpus)
            if found is None:
                continue
            assert sum(count for _, count in found.gpus) <= gpus
            assert all(found.offered[name] >= count for name, count in wanted.items())
            assert found.nodes * gpus >= found.bound
            for devices, _ in found.gpus:
                proof = place(A100.mig, devices)  # type: ignore[arg-type]
                assert isinstance(proof, MigPlacement)


def test_layouts_strand_at_most_one_compute_slice() -> None:
    found = lay_out_nodes(A100, {"1g.20gb": 12}, 8)
    assert found is not None
    for devices, _ in found.gpus:
        proof = place(A100.mig, devices)  # type: ignore[arg-type]
        assert isinstance(proof, MigPlacement)
        assert proof.stranded_compute <= MOST_STRANDED


def test_single_gpu_nodes_get_one_layout_for_all() -> None:
    found = lay_out_nodes(A100, {"3g.40gb": 2, "1g.10gb": 5}, 1)
    assert found is not None
    assert len(found.gpus) == 1
    # No one layout holds 7g next to anything else.
    assert lay_out_nodes(A100, {"4g.40gb": 1, "3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 1}, 1) is None
