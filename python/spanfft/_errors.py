"""The exceptions, one for each error code of the C interface, and the command line's exit codes."""

from __future__ import annotations

__all__ = [
    "CallbackFailed",
    "CorruptData",
    "EngineError",
    "Error",
    "IOFailure",
    "InternalError",
    "Interrupted",
    "InvalidArgument",
    "InvalidAxis",
    "InvalidType",
    "MPIError",
    "NoSpace",
    "OutOfMemory",
    "Unsupported",
]


class Error(Exception):
    """Base of all of spanfft's exceptions.

    Attributes
    ----------
    code : int
        The ``SPANFFT_*`` code of the C interface.
    """

    code = 10

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidArgument(Error, ValueError):
    """A value that can't be used."""

    code = 1


class Unsupported(Error, NotImplementedError):
    """Valid, but not possible; the message names the alternative."""

    code = 2


class OutOfMemory(Error, MemoryError):
    """Does not fit the memory budget, or an allocation failed."""

    code = 3


class IOFailure(Error, OSError):
    """A file operation failed; the message has the path and the reason."""

    code = 4


class NoSpace(IOFailure):
    """The disk is, or would become, full."""

    code = 5


class CorruptData(Error, ValueError):
    """A file does not hold what its header or its caller promises."""

    code = 6


class MPIError(Error, RuntimeError):
    """An MPI call failed, or the ranks disagree."""

    code = 7


class EngineError(Error, RuntimeError):
    """No local engine can do it, or the one that was asked for can't."""

    code = 8


class Interrupted(Error):
    """Stopped on request: no output appeared. With a journal the same call goes on; else nothing was left behind."""

    code = 9


class InternalError(Error, RuntimeError):
    """A bug in spanfft."""

    code = 10


class CallbackFailed(Error, RuntimeError):
    """A callback on blocks raised an exception, which is the cause on the rank that raised it."""

    code = 11


_BY_CODE: dict[int, type[Error]] = {
    kind.code: kind
    for kind in (
        InvalidArgument,
        Unsupported,
        OutOfMemory,
        IOFailure,
        NoSpace,
        CorruptData,
        MPIError,
        EngineError,
        Interrupted,
        InternalError,
        CallbackFailed,
    )
}


def from_code(code: int, message: str) -> Error:
    """The exception for a code of the C interface, or of `code_for_ranks`; ``_core`` calls it."""
    return _BY_CODE.get(code, InternalError)(message)


def code_for_ranks(error: Error) -> int:
    """What tells other ranks the exception: the C interface's code, or from 1000 on one that it hands through."""
    return next((code for code, kind in _OF_PYTHON.items() if isinstance(error, kind)), error.code)


def exit_code(code: int) -> int:
    """What the command line ends with: 2 for a bad argument, 130 when interrupted, else one more than the code."""
    return 130 if code == Interrupted.code else code + 1


class InvalidType(InvalidArgument, TypeError):
    """An array whose element type can't be used."""


class InvalidAxis(InvalidArgument, IndexError):
    """An axis that the array doesn't have."""


_OF_PYTHON: dict[int, type[Error]] = {1000: InvalidType, 1001: InvalidAxis}
_BY_CODE.update(_OF_PYTHON)
