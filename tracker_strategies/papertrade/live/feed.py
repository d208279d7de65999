"""The bars of a paper account as backtrader feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import backtrader as bt

if TYPE_CHECKING:
    from tracker_strategies.papertrade.live.store import PaperStore


class PaperData(bt.feed.DataBase):
    """One name or target of a paper account. The first one that is added leads: it waits for sessions, the others follow it.

    Params:
      - ``store`` (:class:`~tracker_strategies.papertrade.live.store.PaperStore`)
      - ``dataname`` (str): the name
    """

    params = (("store", None), ("qcheck", 0.5))
    is_target = False

    def islive(self) -> bool:
        """Bars come as they come."""
        return True

    def start(self) -> None:
        """Before the first bar."""
        super().start()
        self._row = -1
        self._live = self._asked_again = False
        self._leads = self._env.datas[0] is self
        self.put_notification(self.DELAYED)

    def haslivedata(self) -> bool:
        """Whether a session waits to be delivered."""
        memory = self.p.store.memory
        return bool(self._row + 1 < memory.count if self._leads else self._row < memory.row)

    def next(self, datamaster: Any = None, ticks: bool = True) -> Any:
        """The next bar. Whoever had none is asked again on the same session, with a master."""
        self._asked_again = datamaster is not None
        return super().next(datamaster, ticks)

    def _load(self) -> bool | None:
        store: PaperStore = self.p.store
        memory = store.memory
        if self._leads and not self._asked_again:
            if memory.row + 1 >= memory.count:
                found = store.wait(self._qcheck or 0.05)
                if not found:
                    if found is False:
                        self.put_notification(self.DISCONNECTED)
                    return found
            memory.row += 1
        if self._row >= memory.row:
            return False if store.over else None
        self._row = memory.row
        bar = memory.bar(self.p.dataname, self._row)
        if bar is None:
            return None
        if self._row >= store.past and not self._live:
            self._live = True
            self.put_notification(self.LIVE)
        for kind, value in bar.items():
            getattr(self.lines, kind)[0] = value
        self.lines.openinterest[0] = 0.0
        self.lines.datetime[0] = memory.dates[self._row]
        return True
