"""One AWS account per test file, callers of both providers."""

from collections.abc import Iterator

import pytest

from gpufleet_sandbox.cloud.aws.account import close
from gpufleet_sandbox.cloud.service import StandInProvider
from tests.clouds import Clouds
from tests.unit.sandbox.cloud.provider_calls import Caller


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clouds]:
    yield Clouds(tmp_path_factory.mktemp("cloud"))
    close()


@pytest.fixture
def aws(clouds: Clouds) -> Caller:
    return Caller(StandInProvider(clouds.aws), region="us-east-1")


@pytest.fixture
def gcp(clouds: Clouds) -> Caller:
    return Caller(StandInProvider(clouds.gcp), project="stand-in", region="us-central1")
