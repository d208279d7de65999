"""Which feeds of a run are tracked, and which are invested in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tracker_strategies.errors import UniverseError


def find_assets(datas: Sequence[Any], targets: Sequence[Any], wanted: Sequence[str] | str | None = None) -> Sequence[Any]:
    """The feeds to invest in: those named, or all that are neither targets nor resampled; or, when only the targets of a panel
    were added, the assets that it makes on demand, all or those named.

    `wanted` is a sequence of names, or a text such as "AAPL,MSFT", in the order in which they are to stand.
    """
    asked = None if wanted is None else _names(wanted)
    own = [d for d in datas if is_plain_feed(d) and not getattr(d, "is_target", False) and not any(d is t for t in targets)]
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
        raise UniverseError(f"assets={wanted!r} names no feed; give names such as AAPL,MSFT, or leave it out for all")
    twice = [name for i, name in enumerate(asked) if name in asked[:i]]
    if twice:
        raise UniverseError(f"assets names {twice[0]!r} twice")
    return asked


def _check_present(asked: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in asked if name not in names]
    if missing:
        more = ", ..." if len(names) > 5 else ""
        raise UniverseError(f"no feed named {missing[0]!r} to invest in among {', '.join(names[:5])}{more} ({len(names)} feeds)")


def is_plain_feed(data: Any) -> bool:
    """Whether a feed delivers bars as they are; resampled and replayed ones are for indicators, not for trading."""
    return not (getattr(data, "_filters", None) or getattr(data, "resampling", 0) or getattr(data, "replaying", 0))


def find_targets(datas: Sequence[Any], wanted: str | Sequence[str] | None) -> list[Any]:
    """The feeds to track: those named, else those that a panel marks as targets, else the one called INDEX."""
    plain = [d for d in datas if is_plain_feed(d)]
    names = [d._name for d in plain]
    if wanted is None:
        marked = [d for d in plain if getattr(d, "is_target", False)]
        if marked:
            return marked
        wanted = "INDEX"
    asked = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    missing = [name for name in asked if name not in names]
    if missing:
        shown = ", ".join(names[:5])
        raise UniverseError(f"no feed named {missing[0]!r} to track among {shown}, ... ({len(names)} feeds); pass target=NAME")
    return [plain[names.index(name)] for name in asked]
