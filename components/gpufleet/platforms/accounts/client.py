"""What clients of accounts and clusters share: questions of a file, and reported answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding


class RefusedError(Exception):
    """A call without an answer: why, and what it needs."""

    def __init__(self, reason: str, needs: str) -> None:
        super().__init__(reason)
        self.reason, self.needs = reason, needs


class Client(ABC):
    """Asks the questions of a file: `path` (place of the declaration), `question` (in words), and
    what the call needs."""

    questions: Path
    """Without its suffix."""

    def __init__(self, answers: Answers, **known: Any) -> None:
        """`answers`: the record of every check; `known`: parameters of all questions."""
        self._answers, self._known = answers, known

    def answer(self, name: str, missing: Finding | None = None, /, **facts: Any) -> Any:
        """The answer to a question as of `ask`; None without one, which is reported.

        `missing` is the finding if the requested object does not exist; None: not an error.
        """
        try:
            return self.ask(name, **facts)
        except NotAnsweredError:
            return None
        except MissingError:
            self._answers.findings += [] if missing is None else [missing]
            return None

    def ask(self, name: str, /, **facts: Any) -> Any:
        """The answer to a question with these facts.

        Raises:
            NotAnsweredError: not allowed, not reachable, or throttled; reported.
            MissingError: the requested object does not exist.
        """
        asked = data_part(self.questions, name, **{**self._known, **facts})
        try:
            answer = self._call(asked)
        except RefusedError as problem:
            path, question = asked["path"], asked["question"]
            self._answers.could_not_check(path, question, problem.reason, problem.needs)
            raise NotAnsweredError from None
        except MissingError:
            self._answers.answered(asked["question"])
            raise
        self._answers.answered(asked["question"])
        return answer

    @abstractmethod
    def _call(self, asked: Mapping[str, Any]) -> Any:
        """The answer. Raises MissingError or RefusedError."""
