"""Which feeds of a run are tracked, and which are invested in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracker_strategies.errors import UniverseError


def find_assets(datas: Sequence[Any], targets: Sequence[Any], wanted: Sequence[str] | str | None = None) -> Sequence[Any]:
    """The feeds to invest in: those named, or all that are neither targets nor resampled; or, when only the targets of a panel
    were added, the assets that it makes on demand.
    """
    own = [d for d in datas if is_plain_feed(d) and not getattr(d, "is_target", False) and not any(d is t for t in targets)]
    clock = getattr(targets[0], "clock", None)
    if not own and clock is not None and clock.assets is not None and wanted is None:
        assets: Sequence[Any] = clock.assets
        return assets
    names = [d._name for d in own]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise UniverseError(f"two feeds are called {twice[0]!r}; name each after its symbol: cerebro.adddata(feed, name=...)")
    if wanted is None:
        return own
    asked = [part.strip() for part in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    missing = [name for name in asked if name not in names]
    if missing:
        raise UniverseError(f"no feed named {missing[0]!r} to invest in among {', '.join(names[:5])}, ... ({len(names)} feeds)")
    return [own[names.index(name)] for name in asked]


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
