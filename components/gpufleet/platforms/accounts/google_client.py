# pyright: standard
"""Read-only calls to Google Cloud that return an answer, a missing permission or an error."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpufleet.components_base.answers import (
    Answers,
    CannotAskError,
    MissingError,
    NotAnsweredError,
)
from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding
from gpufleet.installation import install_command

_QUESTIONS = Path(__file__).with_name("google_questions")

SCOPES = ("https://www.googleapis.com/auth/cloud-platform.read-only",)
TIMEOUT_SECONDS = 20.0

_SERVICES = {
    "clusters": ("container_v1", "ClusterManagerClient"),
    "machineTypes": ("compute_v1", "MachineTypesClient"),
    "acceleratorTypes": ("compute_v1", "AcceleratorTypesClient"),
    "regions": ("compute_v1", "RegionsClient"),
    "projects": ("compute_v1", "ProjectsClient"),
    "reservations": ("compute_v1", "ReservationsClient"),
    "reservationBlocks": ("compute_v1", "ReservationBlocksClient"),
}
"""Requested service -> the module of `google.cloud` and its client."""


class GoogleClient:
    """Clients of one project, created on first use; all of them use HTTP.

    Args:
        project: Google Cloud project; None: that of the credentials.
        answers: Record of every check.

    Raises:
        CannotAskError: the client libraries are not installed, or there are no credentials or no
            project.
    """

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
        self._answers = answers

    def answer(self, name: str, missing: Finding | None = None, /, **facts: Any) -> Any:
        """The result of a question as of `ask`; None without one, which is reported.

        `missing` is the finding if the requested object does not exist; None: not an error.
        """
        return self._answers.answer(missing, self.ask, name, **facts)

    def ask(self, name: str, /, **facts: Any) -> Any:
        """The result of a question of `google_questions.yaml` with these facts.

        Raises:
            NotAnsweredError: not allowed, not reachable, or throttled; reported.
            MissingError: the requested object does not exist.
        """
        from google.api_core.exceptions import GoogleAPICallError, NotFound, RetryError
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        asked = data_part(_QUESTIONS, name, **{"project": self.project, **facts})
        path, question, permission = asked["path"], asked["question"], asked["permission"]
        try:
            answer = getattr(self._client(asked["service"]), asked["method"])(
                request=asked["request"], timeout=TIMEOUT_SECONDS, retry=None
            )
        except NotFound as missing:
            self._answers.answered(question)
            raise MissingError(_first_line(missing)) from None
        except GoogleAPICallError as problem:
            reason = f"Google answered {problem.code} {_first_line(problem)}"
            self._answers.could_not_check(path, question, reason, f"allow {permission}")
            raise NotAnsweredError from None
        except (GoogleAuthError, RetryError, RequestException) as problem:
            self._answers.could_not_check(
                path, question, _first_line(problem), f"credentials that allow {permission}"
            )
            raise NotAnsweredError from None
        self._answers.answered(question)
        return answer

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            module, name = _SERVICES[service]
            made = getattr(self._modules[module], name)
            self._clients[service] = made(credentials=self._credentials, transport="rest")
        return self._clients[service]


def _first_line(problem: Exception) -> str:
    lines: Iterable[str] = str(problem).splitlines()
    return next(iter(lines), type(problem).__name__)[:300]
