"""A range query to Prometheus' HTTP API."""

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
"""Points of a series that one answer may have: Prometheus refuses more than 11,000."""
_TIMEOUT_S = 120
_MOST_BYTES = 1 << 30


def query_range(url: str, query: str, seconds: int) -> str:
    """The answer for the last `seconds`, as text. The step is a minute, longer for long times.

    Raises UnreadableInputError when the server cannot be reached or refuses.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UnreadableInputError(f"{masked(url)}: an address such as http://HOST:9090 is wanted")
    if parts.password is not None:
        raise UnreadableInputError(f"--prometheus: put the credentials into {TOKEN}")
    end = int(time.time())
    step = max(60, -(-seconds // _MOST_POINTS))
    form = {"query": query, "start": end - seconds, "end": end, "step": step}
    request = urllib.request.Request(  # noqa: S310  the scheme was checked
        f"{url.rstrip('/')}/api/v1/query_range", urllib.parse.urlencode(form).encode()
    )
    if token := os.environ.get(TOKEN):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            body = answer.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as problem:
        with problem:
            told = problem.read(2000).decode(errors="replace")
        raise UnreadableInputError(f"{url}: HTTP {problem.code}: {masked(told)}") from None
    except (OSError, ValueError) as problem:
        raise UnreadableInputError(f"{url}: {masked(str(problem))}") from None
    if len(body) > _MOST_BYTES:
        raise UnreadableInputError(f"{url}: the answer is larger than 1 GiB: ask for fewer days")
    return body.decode(errors="replace")
