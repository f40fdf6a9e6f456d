"""Downloading what sources publish into a stored folder, each file complete or not at all."""

import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, build_opener

from gpufleet.catalogue.catalogue import Catalogue
from tools.catalogue.publication import ORIGIN, CannotReachError
from tools.catalogue.published_software import CONFIG_SUFFIX
from tools.catalogue.sources import CollectedSource, hubs_of

Progress = Callable[[str], None]

TIMEOUT_SECONDS = 60
"""Timeout of one connection and of each wait for data."""
_CHUNK = 1 << 20
_AWS = "https://pricing.us-east-1.amazonaws.com"
_AWS_INDEX = f"{_AWS}/offers/v1.0/aws/AmazonEC2/current/region_index.json"
_GPUHUNT = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3"
_GITHUB_API = "https://api.github.com/repos"
_GITHUB_RAW = "https://raw.githubusercontent.com"
_HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Downloads for one run."""

    say: Progress
    regions: frozenset[str] = frozenset()
    """AWS regions of the requested price files; empty: all."""
    timeout: float = TIMEOUT_SECONDS
    missed: list[str] = field(default_factory=list[str])
    """Single files that could not be had, of sources whose others could."""

    def fetch(self, source: CollectedSource, folder: Path, catalogue: Catalogue) -> list[str]:
        """Store the files of a source in a new folder, with their origin. Returns the missing ones,
        if others were available.

        Raises CannotReachError when a file is not available, OSError when one cannot be written.
        """
        folder.mkdir(parents=True)
        self.say(f"{source.key}: {source.title}")
        if source.how:
            raise CannotReachError("", source.how)
        self.missed.clear()
        if source.key == "aws-price-files":
            version, day = self._aws(folder)
        elif source.key == "gpuhunt":
            version, day = self._gpuhunt(folder)
        elif source.key == "charts":
            version, day = self._charts(folder, catalogue)
        elif source.key == "models":
            version, day = self._models(folder, catalogue)
        else:
            version, day = self._files(source, folder)
        origin = {"version": version, "date": day.isoformat()}
        (folder / ORIGIN).write_text(json.dumps(origin) + "\n", encoding="utf-8")
        return list(self.missed)

    def _files(self, source: CollectedSource, folder: Path) -> tuple[str, date]:
        files = source.files
        if not files.repository:
            days = [self.download(url, folder / name) for name, url in files.paths.items()]
            return next(iter(files.paths.values())), max(days)
        version, day = self._commit(files.repository, list(files.paths.values()), files.release)
        for name, path in files.paths.items():
            self.download(f"{_GITHUB_RAW}/{files.repository}/{version}/{path}", folder / name)
        return version, day

    def _commit(self, repository: str, paths: list[str], release: bool) -> tuple[str, date]:
        """Version of a repository and its day: the newest release, or the newest commit of one of
        the files."""
        if release:
            found = self._json(f"{_GITHUB_API}/{repository}/releases/latest")
            return str(found["tag_name"]), _day(found["published_at"])
        commits = [
            self._json(f"{_GITHUB_API}/{repository}/commits?per_page=1&path={quote(path)}")[0]
            for path in paths
        ]
        newest = max(commits, key=lambda one: one["commit"]["committer"]["date"])
        return str(newest["sha"]), _day(newest["commit"]["committer"]["date"])

    def _aws(self, folder: Path) -> tuple[str, date]:
        index = self._json(_AWS_INDEX)
        regions: Mapping[str, Any] = index["regions"]
        wanted = {
            name: one["currentVersionUrl"]
            for name, one in regions.items()
            if name in self.regions or (not self.regions and _is_region(name))
        }
        for number, (name, url) in enumerate(sorted(wanted.items()), 1):
            self.say(f"  {name}, file {number} of {len(wanted)}")
            self.download(_AWS + url.removesuffix(".json") + ".csv", folder / f"{name}.csv")
        return _day(index["publicationDate"]).isoformat(), _day(index["publicationDate"])

    def _gpuhunt(self, folder: Path) -> tuple[str, date]:
        versions: list[str] = []
        day = date.min
        for provider in ("aws", "gcp"):
            version = self._bytes(f"{_GPUHUNT}/{provider}/version").decode().strip()
            url = f"{_GPUHUNT}/{provider}/{version}/catalog.zip"
            packed = folder / f"{provider}.zip"
            day = max(day, self.download(url, packed))
            try:
                with zipfile.ZipFile(packed) as archive:
                    (folder / f"{provider}.csv").write_bytes(archive.read(f"{provider}.csv"))
            except (zipfile.BadZipFile, KeyError) as problem:
                raise CannotReachError(url, f"no archive with {provider}.csv: {problem}") from None
            versions.append(version)
        return ", ".join(versions), day

    def _charts(self, folder: Path, catalogue: Catalogue) -> tuple[str, date]:
        wanted: dict[str, str] = {}
        for address in sorted({chart.repository for chart in catalogue.charts.values()}):
            name = urlsplit(address).netloc + urlsplit(address).path
            file = name.replace("/", "--")
            if address.startswith("oci://"):
                host, _, path = name.partition("/")
                wanted[f"{file}.json"] = f"https://{host}/v2/{path}/tags/list"
            else:
                wanted[f"{file}.yaml"] = f"{address.rstrip('/')}/index.yaml"
        return self._each(wanted, folder)

    def _models(self, folder: Path, catalogue: Catalogue) -> tuple[str, date]:
        wanted = {
            f"{hub.replace('/', '--')}{CONFIG_SUFFIX}": f"{_HUB}/{hub}/resolve/main/config.json"
            for hub in hubs_of(catalogue)
        }
        return self._each(wanted, folder)

    def _each(self, wanted: Mapping[str, str], folder: Path) -> tuple[str, date]:
        """Store files that do not belong together: one that cannot be had leaves the others."""
        missed: list[CannotReachError] = []
        for name, url in wanted.items():
            try:
                self.download(url, folder / name)
            except CannotReachError as problem:
                missed.append(problem)
        if len(missed) == len(wanted):
            raise missed[0]
        self.missed.extend(map(str, missed))
        return "as read", datetime.now(UTC).date()

    def _json(self, url: str) -> Any:
        try:
            return json.loads(self._bytes(url))
        except ValueError:
            raise CannotReachError(url, "the answer is not valid JSON: is it of a proxy?") from None

    def _bytes(self, url: str) -> bytes:
        into = io.BytesIO()
        self._read(url, into)
        return into.getvalue()

    def download(self, url: str, file: Path) -> date:
        """Store what an address gives, and the day it is of. A part of it is never stored."""
        part = file.with_name(f"{file.name}.part")
        try:
            with part.open("wb") as into:
                day = self._read(url, into)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        return day

    def _read(self, url: str, into: Any) -> date:
        # Addresses are those of the sources above, and tests' own.
        request = Request(url, headers={"User-Agent": "gpufleet-catalogue"})  # noqa: S310
        try:
            with build_opener().open(request, timeout=self.timeout) as answer:
                expected = answer.headers.get("Content-Length")
                received = 0
                while chunk := answer.read(_CHUNK):
                    received += len(chunk)
                    _write(into, chunk)
                    if received % (64 * _CHUNK) < len(chunk):
                        self.say(f"  {received // _CHUNK} MiB of {url}")
                modified = answer.headers.get("Last-Modified")
        except HTTPError as problem:
            with problem:
                raise CannotReachError(url, _refusal(problem)) from None
        except DiskError:
            raise
        except (OSError, HTTPException) as problem:
            reason = getattr(problem, "reason", problem) or problem
            raise CannotReachError(
                url, f"no connection: {reason or type(reason).__name__}"
            ) from None
        if expected is not None and received != int(expected):
            raise CannotReachError(url, f"{received} of {expected} bytes arrived")
        return parsedate_to_datetime(modified).date() if modified else datetime.now(UTC).date()


class DiskError(OSError):
    """A download cannot be written."""


def _write(into: Any, chunk: bytes) -> None:
    """Write, and keep a full disk apart from a connection that fails."""
    try:
        into.write(chunk)
    except OSError as problem:
        raise DiskError(problem.errno, problem.strerror) from None


def _refusal(problem: HTTPError) -> str:
    proxied = any(name in os.environ for name in ("https_proxy", "HTTPS_PROXY"))
    hint = {
        401: "; the address wants a login",
        403: "; a proxy, a filter or a limit of calls forbids it",
        404: "; the file has moved: is this version of gpufleet old?",
        407: "; the proxy wants a login: HTTPS_PROXY=http://user:password@host:port",
        429: "; too many calls, try again later",
    }.get(problem.code, "")
    through = " (through the proxy of HTTPS_PROXY)" if proxied else ""
    return f"answered {problem.code} {problem.reason}{hint}{through}"


def _day(text: str) -> date:
    return date.fromisoformat(text[:10])


def _is_region(name: str) -> bool:
    """Whether an entry is a region of AWS, and no zone of a city or a phone company."""
    return name.count("-") == 2 + name.startswith("us-gov-")
