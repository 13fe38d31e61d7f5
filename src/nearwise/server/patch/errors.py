"""A change that is refused, and the Status its client gets."""

from __future__ import annotations

from typing import Final

from nearwise.model.meta import Status, StatusCause, StatusDetails
from nearwise.server.statuses import Refusal


class PatchError(Refusal):
    """A change that cannot be made.

    ``str()`` says what was wrong. That is more than the status says where Kubernetes keeps it to
    itself, as for a JSON patch that fails.
    """

    def __init__(self, status: Status, why: str = "") -> None:
        super().__init__(status)
        self._why = why or status.message

    def __str__(self) -> str:
        return self._why


def bad_request(message: str) -> PatchError:
    """400: what was sent is not of the form it has to have."""
    return PatchError(_failure(400, "BadRequest", message))


def invalid(message: str) -> PatchError:
    """422: well formed, but it does not fit the object. For this Kubernetes answers 500."""
    return PatchError(_failure(422, "Invalid", message))


def unprocessable(why: str) -> PatchError:
    """422, about which Kubernetes tells its client nothing (recorded: a failing test)."""
    return PatchError(_failure(422, "Invalid", _UNTOLD, StatusDetails()), why)


def too_large(message: str) -> PatchError:
    """413: more than is taken in one go."""
    message = f"Request entity too large: {message}"
    return PatchError(_failure(413, "RequestEntityTooLarge", message))


def apply_conflict(message: str, causes: tuple[StatusCause, ...]) -> PatchError:
    """409: other managers own fields of the applied object, at other values."""
    return PatchError(_failure(409, "Conflict", message, StatusDetails(causes=causes)))


def invalid_options(cause: StatusCause) -> PatchError:
    """422: the patch's parameters, not the patch, are wrong."""
    message = f'PatchOptions.meta.k8s.io "" is invalid: {cause.field}: {cause.message}'
    details = StatusDetails(group="meta.k8s.io", kind="PatchOptions", causes=(cause,))
    return PatchError(_failure(422, "Invalid", message, details))


_UNTOLD: Final = "the server rejected our request due to an error in our request"


def _failure(code: int, reason: str, message: str, details: StatusDetails | None = None) -> Status:
    return Status(status="Failure", code=code, reason=reason, message=message, details=details)
