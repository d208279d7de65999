"""Which feeds of a run are tracked, which are invested in, and in which order an algorithm knows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import UniverseError

IndexArray = NDArray[np.int64]


def find_assets(datas: Sequence[Any], targets: Sequence[Any], wanted: Sequence[str] | str | None = None) -> Sequence[Any]:
    """The feeds to invest in: those named, or all beside the targets: not resampled, or, when the targets are, resampled as they
    are; or, when only the targets of a panel were added, the assets that it makes on demand, all or those named.

    `wanted` is a sequence of names, or a text such as "AAPL,MSFT", in the order in which they are to stand.
    """
    asked = None if wanted is None else _names(wanted)
    own = [d for d in _like(datas, targets[0], asked) if not getattr(d, "is_target", False) and not any(d is t for t in targets)]
    clock = getattr(targets[0], "clock", None)
    if not own and clock is not None and clock.assets is not None:
        assets: Sequence[Any] = clock.assets
        if asked is None:
            return assets
        places = clock.columns.place
        _check_present(asked, tuple(places))
        return [assets[places[name]] for name in asked]
    names = [d._name for d in own]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise UniverseError(f"two feeds are called {twice[0]!r}; name each after its symbol: cerebro.adddata(feed, name=...)")
    if asked is None:
        return own
    _check_present(asked, names)
    return [own[names.index(name)] for name in asked]


def _like(datas: Sequence[Any], target: Any, asked: Sequence[str] | None) -> list[Any]:
    """Feeds that may be traded beside a target: those of its kind, and others that are asked for and go by no such name."""
    kind = (target._timeframe, target._compression)
    alike = [
        d
        for d in datas
        if (is_plain_feed(d) if is_plain_feed(target) else is_resampled(d) and (d._timeframe, d._compression) == kind)
    ]
    others = set(asked or ()) - {d._name for d in alike}
    return alike + [d for d in datas if d._name in others and (is_plain_feed(d) or is_resampled(d))]


def asked_assets(wanted: Sequence[str] | str, names: Sequence[str]) -> tuple[str, ...]:
    """The names that `wanted` asks for, which must be among these."""
    asked = _names(wanted)
    _check_present(asked, names)
    return tuple(asked)


def _names(wanted: Any) -> list[str]:
    """Names from a text such as "AAPL,MSFT" or a sequence; a command line may have read 600000 as a number."""
    parts = wanted.split(",") if isinstance(wanted, str) else list(wanted) if isinstance(wanted, Iterable) else [wanted]
    asked = [str(part).strip() for part in parts]
    if not asked or not all(asked):
        raise UniverseError(f"assets={wanted!r} names no feed; give names such as AAPL,MSFT, or omit it to use all feeds")
    twice = [name for i, name in enumerate(asked) if name in asked[:i]]
    if twice:
        raise UniverseError(f"assets={wanted!r} names {twice[0]!r} twice; give each name once")
    return asked


def _check_present(asked: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in asked if name not in names]
    if missing:
        more = ", ..." if len(names) > 5 else ""
        shown = ", ".join(names[:5])
        raise UniverseError(f"assets: no feed is named {missing[0]!r}; choose among the {len(names)} feeds {shown}{more}")


def is_plain_feed(data: Any) -> bool:
    """Whether a feed delivers bars as they are. Resampled ones are traded where there are no others, or where they are named;
    replayed ones, whose bars are not over when they are seen, are for indicators alone.
    """
    return not (getattr(data, "_filters", None) or getattr(data, "resampling", 0) or getattr(data, "replaying", 0))


def is_resampled(data: Any) -> bool:
    """Whether a feed delivers whole bars that are made from finer ones (``cerebro.resampledata``)."""
    return bool(getattr(data, "resampling", 0)) and not getattr(data, "replaying", 0)


def find_targets(datas: Sequence[Any], wanted: str | Sequence[str] | None) -> list[Any]:
    """The feeds to track: those named, else those that a panel marks as targets, else the one called INDEX."""
    plain = [d for d in datas if is_plain_feed(d)]
    known = plain + [d for d in datas if is_resampled(d) and d._name not in {p._name for p in plain}]
    names = [d._name for d in known]
    if wanted is None:
        marked = [d for d in plain or known if getattr(d, "is_target", False)]
        if marked:
            return marked
        wanted = "INDEX"
    asked = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    missing = [name for name in asked if name not in names]
    if missing:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise UniverseError(f"target: no feed is named {missing[0]!r}; pass target=NAME, one of the {len(names)} feeds {shown}")
    return [known[names.index(name)] for name in asked]


def order_by_symbol(symbols: Sequence[str]) -> IndexArray | None:
    """Positions of the symbols, sorted by name; None where they are sorted already.

    Algorithms decide ties, draw names by lot and add up numbers in the order in which they know the names. One order for all ways
    to add the feeds makes one outcome.
    """
    order = sorted(range(len(symbols)), key=symbols.__getitem__)
    return None if order == list(range(len(symbols))) else np.array(order)


def known_names(symbols: tuple[str, ...], allowed: NDArray[np.bool_], *, by_position: bool) -> IndexArray | None:
    """Positions of the names that the algorithm knows, in its order; None for all of them as they are."""
    order = None if by_position else order_by_symbol(symbols)
    if allowed.all():
        return order
    every = np.arange(len(symbols)) if order is None else order
    return np.asarray(every[allowed[every]])
