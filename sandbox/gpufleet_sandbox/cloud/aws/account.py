"""An account that outlives the plugin: a journal of API calls, repeated on moto.

An engine run starts and ends the provider, and moto keeps everything in memory. So each call that
changes something is recorded, and a process that sees a journal for the first time repeats it.
Before each call moto's source of randomness is seeded with the call's number: the same journal
gives the same ids. Several processes may use one account; each first repeats the other calls.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from filelock import FileLock
from moto import mock_aws
from moto.moto_api._internal import mock_random

from gpufleet_sandbox.cloud.aws.model import validate
from gpufleet_sandbox.cloud.cloud import CloudError

ACCOUNT_ID = "123456789012"
"""The account number of moto, and the one documentation uses."""

NOT_SIMULATED = frozenset(
    {
        ("ec2", "CreatePlacementGroup"),
        ("ec2", "DeletePlacementGroup"),
        ("eks", "AssociateAccessPolicy"),
        ("eks", "CreateAccessEntry"),
        ("eks", "CreateAddon"),
        ("eks", "CreatePodIdentityAssociation"),
        ("eks", "DeleteAccessEntry"),
        ("eks", "DeleteAddon"),
        ("eks", "DeletePodIdentityAssociation"),
        ("eks", "DisassociateAccessPolicy"),
        ("eks", "UpdateAccessEntry"),
        ("eks", "UpdateAddon"),
        ("eks", "UpdateNodegroupVersion"),
        ("eks", "UpdatePodIdentityAssociation"),
    }
)
"""Operations that moto 5.2.5 lacks: their requests are validated by the model and then only
kept."""

_READING = ("Describe", "Get", "List")


@dataclass
class _World:
    """Contents of this process's moto: one journal, up to one line."""

    mock: Any = None
    journal: Path | None = None
    position: int = 0
    size: int = 0
    """Bytes of the journal when it was last read or written here."""
    regions: frozenset[str] = frozenset()


_WORLD = _World()
_WORLD_LOCK = threading.RLock()
"""moto's state is the process's: one call at a time, whichever account it is for."""


class Account:
    """One account.

    Args:
        folder: where its journal is.
    """

    def __init__(self, folder: Path) -> None:
        self._journal = folder / "aws-calls.jsonl"
        self._folder = folder

    def call(
        self, service: str, operation: str, region: str, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """One API call.

        Args:
            service: `ec2`.
            operation: `CreateLaunchTemplate`.
            region: where.
            parameters: the request, in the API's spelling.

        Raises:
            CloudError: refused by the model or by the service.
        """
        validate(service, operation, parameters)
        if (service, operation) in NOT_SIMULATED:
            return {}
        with _WORLD_LOCK, self._caught_up():
            answer = _execute(service, operation, region, parameters, _WORLD.position)
            if not operation.startswith(_READING):
                entry = [service, operation, region, dict(parameters)]
                with self._journal.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry) + "\n")
                _WORLD.position += 1
                _WORLD.size = self._journal.stat().st_size
        answer.pop("ResponseMetadata", None)
        return answer

    @contextmanager
    def _caught_up(self) -> Iterator[None]:
        """Hold the account, with everything in moto that was done to it."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self._folder / ".aws-lock"):
            size = self._journal.stat().st_size if self._journal.is_file() else 0
            if (_WORLD.journal, _WORLD.size) == (self._journal, size):
                yield  # no other process wrote: no need to read
                return
            lines: list[str] = []
            if size:
                lines = self._journal.read_text(encoding="utf-8").splitlines()
            if _WORLD.journal != self._journal or len(lines) < _WORLD.position:
                _start_over(self._journal)
            for line in lines[_WORLD.position :]:
                service, operation, region, parameters = json.loads(line)
                _execute(service, operation, region, parameters, _WORLD.position)
                _WORLD.position += 1
            _WORLD.size = size
            yield


def close() -> None:
    """Give the process its own botocore back. The journals stay."""
    with _WORLD_LOCK:
        if _WORLD.mock is not None:
            _WORLD.mock.stop()
        _WORLD.mock, _WORLD.journal = None, None
        _WORLD.position, _WORLD.size, _WORLD.regions = 0, 0, frozenset()


def _start_over(journal: Path) -> None:
    close()
    _WORLD.mock = mock_aws()
    _WORLD.mock.start()
    _WORLD.mock.reset()
    _WORLD.journal = journal


def _execute(
    service: str, operation: str, region: str, parameters: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    if region not in _WORLD.regions:
        # The first call to a region makes its default network; its ids must not depend on which
        # call that is.
        _WORLD.regions |= {region}
        mock_random.seed(f"network of {region}")
        _client("ec2", region).describe_vpcs()
    mock_random.seed(seed)
    if operation == "AttachRolePolicy":
        _know_managed_policy(str(parameters["PolicyArn"]))
    try:
        return getattr(_client(service, region), xform_name(operation))(**parameters)
    except ClientError as refused:
        raise CloudError(str(refused)) from refused
    except BotoCoreError as problem:
        raise CloudError(f"{operation}: {problem}") from problem
    except Exception as problem:
        raise CloudError(f"{operation}: moto breaks with {problem!r}") from problem


def _know_managed_policy(arn: str) -> None:
    """Let moto have the one policy of AWS's own that is requested.

    moto loads all of them into each of its six partitions, a second at each start, or none.
    """
    from moto.iam.models import AWSManagedPolicy, iam_backends

    name = arn.rsplit("/", 1)[-1]
    if ":iam::aws:policy/" not in arn or name not in _managed_policies():
        return
    backend = iam_backends[ACCOUNT_ID]["aws"]
    policy = AWSManagedPolicy.from_data(name, ACCOUNT_ID, "aws", _managed_policies()[name])
    backend.managed_policies.setdefault(policy.arn, policy)


@cache
def _managed_policies() -> dict[str, Any]:
    """AWS's own policies as moto has them, by name."""
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    return json.loads(aws_managed_policies_data)


_CLIENTS: dict[tuple[str, str], Any] = {}


def _client(service: str, region: str) -> Any:
    """A client that can reach nothing but moto."""
    if (service, region) not in _CLIENTS:
        _CLIENTS[service, region] = boto3.client(  # pyright: ignore[reportUnknownMemberType]
            service,  # pyright: ignore[reportArgumentType]
            region_name=region,
            aws_access_key_id="stand-in",
            aws_secret_access_key="stand-in",  # noqa: S106 - moto requires a text
            config=Config(retries={"max_attempts": 0}, connect_timeout=2, read_timeout=5),
        )
    return _CLIENTS[service, region]
