"""Fetching a program from its vendor, verified against the vendor's published checksums."""

import hashlib
import os
import tarfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from gpufleet_sandbox.program_cache import go_platform
from gpufleet_sandbox.programs import SandboxProgram, Vendor

OFF_VARIABLE = "GPUFLEET_NO_DOWNLOAD"
"""Set to 1 to build everything that is not installed."""

_TIMEOUT_SECONDS = 5.0
"""Timeout of each network step. A machine without network access often drops packets silently."""

_CHECKSUM_FILE_LIMIT = 1 << 20
_CHUNK = 1 << 18


class DownloadError(Exception):
    """The program could not be downloaded; the text gives the reason. The next way is a build."""


class Downloads:
    """Downloads of one run: a host that did not respond once is not tried again."""

    def __init__(self, *, enabled: bool | None = None) -> None:
        self.enabled = os.environ.get(OFF_VARIABLE, "") in ("", "0") if enabled is None else enabled
        self._unreachable: dict[str, str] = {}
        self._lock = threading.Lock()

    def fetch(self, program: SandboxProgram, folder: Path, stopping: threading.Event) -> Path:
        """Fetch, verify and unpack a program below `folder`.

        Returns:
            The folder that holds it, with all other files of the vendor's archive.

        Raises:
            DownloadError: Disabled, not offered, not reachable, or with another checksum.
        """
        if not self.enabled:
            raise DownloadError(f"downloads are turned off by {OFF_VARIABLE}")
        vendor, system, architecture = _offer(program)
        words = {"version": program.version, "os": system, "arch": architecture}
        url = vendor.url.format(**words)
        name = url.rsplit("/", 1)[1]
        expected = _checksum(self._read(vendor.checksums.format(**words)), name)
        archive = folder / name
        if self._save(url, archive, stopping) != expected:
            archive.unlink()
            raise DownloadError(f"{url} does not match its published checksum")
        return _unpack(archive, vendor, words, folder, program.name)

    def _read(self, url: str) -> str:
        with self._open(url) as response:
            return response.read(_CHECKSUM_FILE_LIMIT).decode("utf-8", errors="replace")

    def _save(self, url: str, target: Path, stopping: threading.Event) -> str:
        digest = hashlib.sha256()
        try:
            with self._open(url) as response, target.open("wb") as file:
                while chunk := response.read(_CHUNK):
                    if stopping.is_set():
                        raise DownloadError("interrupted")
                    digest.update(chunk)
                    file.write(chunk)
        except OSError as problem:
            raise DownloadError(f"{url} broke off: {problem}") from problem
        return digest.hexdigest()

    def _open(self, url: str):
        host = urllib.parse.urlsplit(url).netloc
        with self._lock:
            if reason := self._unreachable.get(host):
                raise DownloadError(reason)
        try:
            return urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS)  # noqa: S310 - our table
        except urllib.error.HTTPError as problem:
            raise DownloadError(f"{url} answers {problem.code}") from problem
        except OSError as problem:
            reason = f"{host} is not reachable ({getattr(problem, 'reason', problem)})"
            with self._lock:
                self._unreachable[host] = reason
            raise DownloadError(reason) from problem


def _offer(program: SandboxProgram) -> tuple[Vendor, str, str]:
    system, machine = go_platform()
    vendor = program.vendor
    if vendor is None:
        raise DownloadError("its vendor publishes no checksums")
    architecture = dict(vendor.architectures).get(machine)
    if system not in vendor.systems or architecture is None:
        raise DownloadError(f"its vendor offers nothing for {system}/{machine}")
    return vendor, system, architecture


def _checksum(published: str, name: str) -> str:
    """The SHA-256 of one file: from a list of sums, or a file that is one bare sum."""
    words = published.split()
    if len(words) == 1:
        return words[0].lower()
    for line in published.splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[1].lstrip("*") == name:
            return parts[0].lower()
    raise DownloadError(f"its vendor publishes no checksum of {name}")


def _unpack(archive: Path, vendor: Vendor, words: dict[str, str], folder: Path, name: str) -> Path:
    unpacked = folder / "unpacked"
    unpacked.mkdir()
    if vendor.member is None:
        archive.rename(unpacked / name)
        return unpacked
    try:
        with tarfile.open(archive) as content:
            content.extractall(unpacked, filter="data")
    except (tarfile.TarError, OSError) as problem:
        raise DownloadError(f"{archive.name} cannot be unpacked: {problem}") from problem
    archive.unlink()
    return unpacked / vendor.member.format(**words)
