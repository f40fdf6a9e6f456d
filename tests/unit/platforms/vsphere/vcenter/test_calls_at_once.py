"""The pool of the SDK's dynamic-provider process, and what is not that pool."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

from gpufleet.platforms.vsphere.vcenter.calls_at_once import allow_more_calls


def test_calls_that_wait_already_are_served_too() -> None:
    together = threading.Barrier(12)
    blocked = threading.Event()

    def first() -> bool:
        blocked.wait(30)  # until all others wait for a thread
        changed = allow_more_calls(12)
        together.wait(30)
        return changed

    with ThreadPoolExecutor(4) as pool:
        changed = pool.submit(first)
        others = [pool.submit(together.wait, 30) for _ in range(11)]
        blocked.set()
        assert changed.result(60) is True
        assert len({done.result(60) for done in others}) == 11, "twelve met"


def test_a_larger_pool_stays_as_it_is() -> None:
    together = threading.Barrier(3)
    with ThreadPoolExecutor(3) as pool:
        assert pool.submit(allow_more_calls, 2).result(30) is True
        met = [pool.submit(together.wait, 30) for _ in range(3)]
        assert sorted(done.result(60) for done in met) == [0, 1, 2]


def test_a_thread_of_nobodys_pool_changes_nothing() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda one, two: found.append(allow_more_calls()), args=(1, 2))
    thread.start()
    thread.join()
    assert found == [False]
    assert allow_more_calls() is False


def test_the_sdk_still_serves_with_a_pool_of_threads() -> None:
    text = (resources.files("pulumi") / "dynamic" / "__main__.py").read_text()
    assert re.search(r"grpc\.server\(\s*futures\.ThreadPoolExecutor\(max_workers=4\)", text)
