"""Errors of the paper account. Each message says what was found and which command mends it."""

from tracker_strategies.errors import AccountError, DataError


class PaperError(AccountError):
    """Root of what can go wrong with a paper account."""


class JournalError(PaperError):
    """The journal cannot be read or written: damaged, of another version, read-only, or the disk is full."""


class ReconcileError(PaperError):
    """The broker's account is not what the journal says it should be."""


class RiskError(PaperError):
    """A limit was broken; the whole rebalance was rejected."""


class FlowError(PaperError):
    """Money cannot be paid in or out as the schedule says; nothing was booked."""


class StrategyError(PaperError):
    """The strategy could not be loaded or raised; nothing was decided."""


class StaleDataError(PaperError, DataError):
    """The data end before the last session that has closed, or hold a session that has not closed yet."""


class ClockError(PaperError):
    """The clock of this computer and the broker's are too far apart."""


class ExitError(PaperError):
    """An emergency exit did what it could, and something is left that a person has to look at."""


class BadBarError(PaperError, DataError):
    """A new bar does not look like a price: nothing was taken in."""


class BrokerError(PaperError):
    """The broker gave no usable answer."""


class BrokerUnavailableError(BrokerError):
    """No answer, or one that cannot be read. Whether the request was processed is not known.

    ``wait``: seconds after which the broker wants to be asked again.
    """

    wait: float = 0.0


class BrokerKeysError(BrokerError):
    """The keys are missing, wrong or not allowed to do this."""


class OrderRefusedError(BrokerError):
    """The broker has refused this order for good."""


class DuplicateOrderError(BrokerError):
    """The broker has an order with this client id already."""


class LiveEndpointError(PaperError):
    """An address that is not a paper account; this program does not trade real money."""
