# pyright: standard
"""Read-only calls to Google Cloud that return an answer, a missing permission or an error."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpufleet.components_base.answers import Answers, CannotAskError, MissingError
from gpufleet.installation import install_command
from gpufleet.platforms.accounts.client import Client, RefusedError

SCOPES = ("https://www.googleapis.com/auth/cloud-platform.read-only",)
TIMEOUT_SECONDS = 20.0


class GoogleClient(Client):
    """Clients of one project, created on first use; all of them use HTTP.

    Args:
        project: Google Cloud project; None: that of the credentials.
        answers: Record of every check.

    Raises:
        CannotAskError: the client libraries are not installed, or there are no credentials or no
            project.
    """

    questions = Path(__file__).with_name("google_questions")

    def __init__(self, project: str | None, answers: Answers) -> None:
        try:
            import google.auth
            from google.auth.exceptions import DefaultCredentialsError
            from google.cloud import compute_v1, container_v1
        except ImportError as missing:
            raise CannotAskError(
                f"Google's client libraries are not installed: `{install_command('preflight')}`"
            ) from missing
        try:
            found: tuple[Any, str | None] = google.auth.default(scopes=SCOPES)
        except DefaultCredentialsError as problem:
            raise CannotAskError(
                f"no Google credentials: {problem}; run `gcloud auth application-default login`"
            ) from None
        if (project or found[1]) is None:
            raise CannotAskError("no project: write `cluster.project`, or set a default project")
        self.project = str(project or found[1])
        self._credentials = found[0]
        self._modules: dict[str, Any] = {"compute_v1": compute_v1, "container_v1": container_v1}
        self._clients: dict[str, Any] = {}
        super().__init__(answers, project=self.project)

    def _call(self, asked: Mapping[str, Any]) -> Any:
        from google.api_core.exceptions import GoogleAPICallError, NotFound, RetryError
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        permission, call = (
            asked["permission"],
            getattr(self._client(asked["service"]), asked["method"]),
        )
        try:
            return call(request=asked["request"], timeout=TIMEOUT_SECONDS, retry=None)
        except NotFound as missing:
            raise MissingError(_first_line(missing)) from None
        except GoogleAPICallError as problem:
            reason = f"Google answered {problem.code} {_first_line(problem)}"
            raise RefusedError(reason, f"allow {permission}") from None
        except (GoogleAuthError, RetryError, RequestException) as problem:
            needs = f"credentials that allow {permission}"
            raise RefusedError(_first_line(problem), needs) from None

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            module, name = service.split(".")
            made = getattr(self._modules[module], name)
            self._clients[service] = made(credentials=self._credentials, transport="rest")
        return self._clients[service]


def _first_line(problem: Exception) -> str:
    lines: Iterable[str] = str(problem).splitlines()
    return next(iter(lines), type(problem).__name__)[:300]
