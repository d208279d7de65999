"""The line to Alpaca: which address may be used, with which keys, how long to wait, and what each kind of failure means."""

from __future__ import annotations

import ipaddress
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from tracker_strategies.errors import MissingExtraError, ParameterError
from tracker_strategies.papertrade.brokers.secret_texts import Mask
from tracker_strategies.papertrade.errors import (
    BrokerError,
    BrokerKeysError,
    BrokerUnavailableError,
    DuplicateOrderError,
    LiveEndpointError,
    OrderRefusedError,
)

PAPER_HOST = "paper-api.alpaca.markets"
KEY, SECRET = "APCA_API_KEY_ID", "APCA_API_SECRET_KEY"
#: Seconds for a connection and for an answer. alpaca-py itself would wait for ever.
TIMEOUT = (5.0, 20.0)
#: Seconds between attempts to read something. Reading twice does no harm.
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Longest that a broker may ask us to wait.
LONGEST_WAIT = 65.0
#: Seconds for a whole answer, however it comes: one that drips in byte by byte is never late by the limits of single reads.
WHOLE_ANSWER = 30.0
#: Seconds that may be spent on answers to one question, all attempts together.
WHOLE_QUESTION = 60.0
#: Letters of what went wrong that are told.
_TOLD = 500

T = TypeVar("T")


def check_address(url: str) -> str:
    """The address of a paper account, without a slash at its end; anything else is refused.

    Allowed are Alpaca's paper host by https, and this computer itself.
    """
    url = url.strip().rstrip("/") or f"https://{PAPER_HOST}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ParameterError(f"{url!r} is not a web address; omit it to use Alpaca's paper account") from None
    if parts.username or parts.password or parts.query or parts.fragment or parts.path:
        raise ParameterError(
            f"the address must be scheme and host only, such as https://{PAPER_HOST}: put the keys into {KEY} and {SECRET}"
        )
    if parts.scheme == "https" and host == PAPER_HOST and port in (None, 443):
        return url
    if parts.scheme in ("http", "https") and is_this_computer(url):
        return url
    raise LiveEndpointError(
        f"{url} is not a paper account: only https://{PAPER_HOST} and this computer (127.0.0.1) are allowed; "
        "real money is never traded"
    )


def stream_address(url: str) -> str:
    """Where the same host streams its trade updates."""
    scheme, _, rest = check_address(url).partition("://")
    return f"{'wss' if scheme == 'https' else 'ws'}://{rest}/stream"


def is_this_computer(url: str) -> bool:
    """Whether an address is one of this computer."""
    host = urlsplit(url.strip()).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_keys(environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Key and secret, from the environment and nowhere else."""
    key, secret = environment.get(KEY, "").strip(), environment.get(SECRET, "").strip()
    if not (key and secret):
        raise BrokerKeysError(f"set {KEY} and {SECRET} in the environment to the keys of your paper account at Alpaca")
    return key, secret


class Line:
    """Calls of alpaca-py's client, with a time limit, and with every failure as one of our errors.

    Parameters
    ----------
    client : TradingClient
        Its own retries are switched off: they would send an order again without asking whether it had arrived.
    keys : tuple of str
        To be kept out of every message.
    pause : callable
        Waits so many seconds.
    """

    def __init__(self, client: Any, keys: tuple[str, ...], pause: Callable[[float], None] = time.sleep) -> None:
        self._client, self._mask, self._pause = client, Mask(keys), pause
        # alpaca-py has no parameters for these two; the extra pins the version in which they were looked at.
        client._retry = 0
        for scheme in ("http://", "https://"):
            client._session.mount(scheme, _patient_adapter())

    def read(self, what: str, question: Callable[[Any], T]) -> T:
        """Ask, again if need be."""
        spent = 0.0
        for pause in PAUSES:
            begun = time.monotonic()
            try:
                return self._call(what, question)
            except BrokerUnavailableError as problem:
                spent += time.monotonic() - begun
                if spent >= WHOLE_QUESTION:
                    raise
                self._pause(max(pause, problem.wait))
        return self._call(what, question)

    def order(self, what: str, request: Callable[[Any], T]) -> T:
        """Change something; once. Who asks must find out what became of it when there is no answer."""
        return self._call(what, request)

    def _call(self, what: str, question: Callable[[Any], T]) -> T:
        from alpaca.common.exceptions import APIError
        from requests import RequestException

        try:
            return _in_time(lambda: question(self._client))
        except APIError as problem:
            raise self._meaning(what, problem) from None
        except BrokerError:
            raise
        except (RequestException, TimeoutError) as problem:
            raise BrokerUnavailableError(
                self._clean(f"{what}: no usable answer from Alpaca ({type(problem).__name__}: {problem})")
            ) from None
        except Exception as problem:  # alpaca-py parses whatever arrives: what it cannot digest may surface as anything
            words = self._clean(str(problem))[:200]
            raise BrokerUnavailableError(
                self._clean(f"{what}: Alpaca's answer cannot be read ({type(problem).__name__}: {words})")
            ) from None

    def _meaning(self, what: str, problem: Any) -> BrokerError:
        status = int(problem.status_code or 0)
        code, message, whole = _body(str(problem))
        message = self._clean(message)[:200]
        text = self._clean(f"{what}: Alpaca answers {status}{f' (code {code})' if code else ''}: {message}")
        if status == 401 or (status == 403 and whole and code // 100_000 != 403):
            return BrokerKeysError(f"{text}. Check {KEY} and {SECRET}, and that they belong to the paper account")
        if status == 422 and "client_order_id" in message and "unique" in message:
            return DuplicateOrderError(text)
        if status in (403, 404, 422) and code:
            return OrderRefusedError(text)
        unavailable = BrokerUnavailableError(text)
        unavailable.wait = _wait(problem)
        return unavailable

    def _clean(self, text: str) -> str:
        """Text on one line, without the keys, and only then cut."""
        return self._mask.clean(text)[:_TOLD]


def _body(text: str) -> tuple[int, str, bool]:
    """Code and message of an error, if it is one of Alpaca's, and whether it could be read: half an answer tells nothing."""
    try:
        content = json.loads(text)
        code = content.get("code", 0)
        return (int(code) if isinstance(code, (int, float)) and 0 <= code < 1e9 else 0), str(content.get("message", "")), True
    except (ValueError, AttributeError, TypeError, OverflowError):
        return 0, text, False


def _wait(problem: Any) -> float:
    """Seconds that the broker asks us to wait."""
    headers = getattr(getattr(problem, "response", None), "headers", None) or {}
    try:
        seconds = float(headers.get("Retry-After") or float(headers.get("X-RateLimit-Reset", 0)) - time.time())
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else 0.0


def _patient_adapter() -> Any:
    from requests.adapters import HTTPAdapter

    class Patient(HTTPAdapter):
        """Every request has a time limit."""

        def send(self, *arguments: Any, **options: Any) -> Any:
            options["timeout"] = options.get("timeout") or TIMEOUT
            return super().send(*arguments, **options)

    return Patient(max_retries=0)


def _in_time(call: Callable[[], T]) -> T:
    """What a call returns or raises, if it does so in time; else :class:`TimeoutError`.

    It is made in a thread, which is left to itself when time is up: nothing in Python ends a read that goes on and on. Whoever
    waits for it goes on, and lets go of what it holds.
    """
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def make() -> None:
        try:
            done.put((call(), None))
        except BaseException as problem:
            done.put((None, problem))

    threading.Thread(target=make, daemon=True).start()
    try:
        found, problem = done.get(timeout=WHOLE_ANSWER)
    except queue.Empty:
        raise TimeoutError(f"no whole answer within {WHOLE_ANSWER:g} seconds") from None
    if problem is not None:
        raise problem
    return cast(T, found)


def make_client(url: str, key: str, secret: str) -> Any:
    """alpaca-py's client for a paper account. A proxy of the environment is for the world outside, never for this computer."""
    try:
        from alpaca.trading.client import TradingClient
    except ImportError:
        raise MissingExtraError("the broker alpaca needs alpaca-py: pip install 'backtrader-index-tracker[paper]'") from None
    client = TradingClient(key, secret, paper=True, url_override=check_address(url))
    client._session.trust_env = not is_this_computer(url)
    return client
