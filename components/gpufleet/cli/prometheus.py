"""A range query to Prometheus' HTTP API."""

import http.client
import os
import time
import urllib.error
import urllib.parse
import urllib.request

from gpufleet.cli.output import UnreadableInputError
from gpufleet.secret_text import masked

TOKEN = "GPUFLEET_PROMETHEUS_TOKEN"  # noqa: S105  name of a variable
"""Environment variable with a bearer token."""
_MOST_POINTS = 10_000
"""Maximum points of a series in one answer: Prometheus refuses more than 11,000."""
_TIMEOUT_S = 120
_MOST_BYTES = 1 << 30


def query_range(url: str, query: str, seconds: int) -> str:
    """The answer for the last `seconds`, as text. The step is a minute, longer for long times.

    Raises UnreadableInputError when the server cannot be reached or refuses.
    """
    _require_address(url)
    end = int(time.time())
    step = max(60, -(-seconds // _MOST_POINTS))
    form = {"query": query, "start": end - seconds, "end": end, "step": step}
    request = urllib.request.Request(  # noqa: S310  the scheme was checked
        f"{url.rstrip('/')}/api/v1/query_range", urllib.parse.urlencode(form).encode()
    )
    if token := os.environ.get(TOKEN, "").strip():
        if not (token.isascii() and token.isprintable()):
            raise UnreadableInputError(f"{TOKEN}: a header cannot have its characters")
        # Not sent to the target of a redirection.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            body = answer.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as problem:
        with problem:
            told = problem.read(2000).decode(errors="replace")
        raise UnreadableInputError(f"{url}: HTTP {problem.code}: {masked(told)}") from None
    except (OSError, ValueError, http.client.HTTPException) as problem:
        cause = problem.reason if isinstance(problem, urllib.error.URLError) else problem
        said = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        raise UnreadableInputError(f"{url} does not answer: {masked(said)}") from None
    if len(body) > _MOST_BYTES:
        raise UnreadableInputError(f"{url}: the answer is larger than 1 GiB: ask for fewer days")
    return body.decode(errors="replace")


def _require_address(url: str) -> None:
    """Refuse an invalid server address, and credentials in it, without repeating them."""
    try:
        parts = urllib.parse.urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets or a port that are none
        raise UnreadableInputError(
            "--prometheus: an address such as http://HOST:9090 is wanted"
        ) from None
    if "@" in parts.netloc or parts.query:
        raise UnreadableInputError(
            f"--prometheus: an address without user and query is wanted; put a token into {TOKEN}"
        )
    if not sound:
        raise UnreadableInputError(f"{masked(url)}: an address such as http://HOST:9090 is wanted")
