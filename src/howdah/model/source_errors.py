"""What a source of jobs tells its worker beside LeaseLost; any other error means that it is away."""

from __future__ import annotations

from howdah.model.errors import Unreachable


class TransactionFailed(Exception):
    """The handler's own writes cannot be committed, and all is rolled back; `cause` says why.

    A deferred constraint, a serialization failure, a transaction that was ended or is aborted.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(cause)
        self.cause = cause


class NothingSent(Unreachable):
    """No connection could be had, so that certainly nothing was done."""


class BatchRefused(Exception):
    """One of the reports is such that the database takes none of its batch; nothing was written. `cause` says why."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(cause)
        self.cause = cause
