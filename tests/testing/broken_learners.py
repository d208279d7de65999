"""Learners that break one promise each, beside a sound one: what the checks are checked with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms import OnlineAlgorithm, Simplex


class Gradient(OnlineAlgorithm):
    """A sound learner, for the others to break."""

    _state = ("_seen",)

    def __init__(self, n_assets: int, *, eta: float = 20.0) -> None:
        super().__init__(n_assets, feasible=Simplex())
        self.eta, self._seen = eta, 0.0

    def _learn(self, w: Any, x: Any, y: float, xx: float, W: Any, free: Any) -> Any:
        self._seen += xx
        return W.project(w - self.eta / (1.0 + self._seen) * (float(w @ x) - y) * x)


class Forgetful(Gradient):
    """Forgets to name its state."""

    _state = ()


class Keeper(Gradient):
    """Keeps a view of its input."""

    def update(self, x: Any, y: Any, **masks: Any) -> Any:
        learned = super().update(self._kept if hasattr(self, "_kept") else x, y, **masks)
        self._kept = x
        return learned


class Meddler(Gradient):
    """Changes its input."""

    def update(self, x: Any, y: Any, **masks: Any) -> Any:
        learned = super().update(x, y, **masks)
        if isinstance(x, np.ndarray):
            x *= 0.5
        return learned


class Partial(Gradient):
    """Likes the first asset best."""

    def _learn(self, w: Any, x: Any, *rest: Any) -> Any:
        return super()._learn(w, np.concatenate([2.0 * x[:1], x[1:]]), *rest)


class Hoarder(Gradient):
    """Remembers every round."""

    def __init__(self, n_assets: int, *, eta: float = 20.0) -> None:
        super().__init__(n_assets, eta=eta)
        self._all: list[Any] = []

    def _learn(self, w: Any, x: Any, *rest: Any) -> Any:
        self._all.append(x.copy())
        return super()._learn(w, x, *rest)


class Hasty(Gradient):
    """Learns before it has looked whether it may."""

    def update(self, x: Any, y: Any, **masks: Any) -> Any:
        self._seen += 1.0
        return super().update(x, y, **masks)


class Leaver(Gradient):
    """Steps off the simplex when the market is wild."""

    def _learn(self, w: Any, x: Any, y: float, xx: float, W: Any, free: Any) -> Any:
        return super()._learn(w, x, y, xx, W, free) * (1.0 + 1e-6 * (xx > 1.0))


class Mover(Gradient):
    """Moves names that nobody has seen."""

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None) -> Any:
        return super().update(np.nan_to_num(x, nan=0.0, posinf=0.0) if observed is not None else x, y, active=active)


class Mute(Gradient):
    """Says what it cannot know."""

    def diagnostics(self):
        return {"seen": float("nan")}


class Twins(Gradient):
    """Is its own copy."""

    def clone(self):
        return self


class Hurried(Gradient):
    """Leaves the last round out when it gets many."""

    def run(self, X, Y):
        W = super().run(X[:-1], Y[:-1])
        return np.vstack([W, W[-1:]])


class Lender(Gradient):
    """Hands out its own memory."""

    def __init__(self, n_assets, *, eta=20.0):
        super().__init__(n_assets, eta=eta)
        self._handed = None

    def state_dict(self):
        if self._handed is None or self._handed["state"]["_seen"] != self._seen or self._handed["state"]["_t"] != self._t:
            self._handed = super().state_dict()
        return self._handed


class Credulous(Gradient):
    """Takes any state for its own."""

    @classmethod
    def from_state(cls, d, **p):
        try:
            return super().from_state(d, **p)
        except Exception:
            return cls(6)


class Exposed(Gradient):
    """Lets anybody write to its weights."""

    def _commit(self, w):
        w = super()._commit(w.copy())
        w.setflags(write=True)
        return w


class Sociable(Gradient):
    """Needs somebody to compare with."""

    def _learn(self, w, x, y, xx, W, free):
        return super()._learn(w, x - np.sort(x)[-2], y, xx, W, free) if len(x) > 1 else [][0]


class Picky(Gradient):
    """Takes half of what comes in a list."""

    def update(self, x, y, **m):
        return super().update([0.5 * each for each in x] if isinstance(x, list) else x, y, **m)


class Strided(Gradient):
    """Adds up in the order of the memory."""

    def update(self, x, y, **m):
        s = 1.0
        if isinstance(x, np.ndarray) and x.ndim == 1 and (x.strides and x.strides[0] != 8):
            s = 1.0 + 1e-12
        return super().update(x, y * s if isinstance(y, float) else y, **m)


class Generous(Gradient):
    """Takes any number of assets."""

    def __init__(self, n_assets, *, eta=20.0):
        super().__init__(n_assets if type(n_assets) is int and n_assets > 0 else 3, eta=eta)


class MaskShy(Gradient):
    """Learns less when it is given masks."""

    def update(self, x, y, *, active=None, observed=None):
        return super().update(x, y if active is None and observed is None else 0.5 * y, active=active, observed=observed)


class Nosy(Gradient):
    """Looks at the returns of names that it may not hold."""

    def update(self, x, y, **m):
        if isinstance(x, np.ndarray) and m.get("active") is not None:
            self._seen += float(np.nan_to_num(x, posinf=1.0).sum())
        return super().update(x, y, **m)


class Counter(Gradient):
    """Steps by the number of all assets."""

    def _learn(self, w, x, y, xx, W, free):
        return super()._learn(w, x * self.n_assets, y, xx, W, free)


class Eager(Gradient):
    """Gives newcomers weight at once."""

    def update(self, x, y, *, active=None, observed=None):
        before = self._active
        w = super().update(x, y, active=active, observed=observed)
        if before is not None and self._active is None:
            w = np.full(self.n_assets, 1 / self.n_assets)
            w.setflags(write=False)
            self._w = w
        return w


class Nostalgic(Gradient):
    """Remembers what a name weighed that comes back."""

    _state = ("_seen", "_old")

    def __init__(self, n_assets, *, eta=20.0):
        super().__init__(n_assets, eta=eta)
        self._old = np.zeros(n_assets)

    def update(self, x, y, *, active=None, observed=None):
        before, held = self._active, self._w
        if before is None and active is not None:
            self._old = np.where(active, 0.0, held)
        w = super().update(x, y, active=active, observed=observed)
        if before is not None and self._active is None:
            w = w * (1 - self._old.sum()) + self._old
            w.setflags(write=False)
            self._w = w
        return w


class Restless(Gradient):
    """Moves when nobody was seen."""

    def update(self, x, y, *, active=None, observed=None):
        w = super().update(x, y, active=active, observed=observed)
        if observed is not None and not np.any(observed):
            w = np.roll(w, 1)
            w.setflags(write=False)
            self._w = w
        return w


class Lopsided(Gradient):
    """Gives what leaves to the first that stays."""

    def restrict(self, active):
        held = self._w
        w = super().restrict(active).copy()
        a = np.asarray(active)
        gone = float(held[~a].sum())
        if gone > 0:
            w = np.where(a, held, 0.0)
            w[np.flatnonzero(a)[0]] += gone
            w.setflags(write=False)
            self._w = w
        return self._w


class Shaky(Gradient):
    """Moves a little each time that it is restricted."""

    def restrict(self, active):
        w = super().restrict(active).copy()
        a = np.asarray(active)
        w = np.where(a, 0.9 * w + 0.1 / np.count_nonzero(a), 0.0)
        w.setflags(write=False)
        self._w = w
        return w


class Drifter(Gradient):
    """Keeps a rest of those who leave."""

    def update(self, x, y, *, active=None, observed=None):
        w = super().update(x, y, active=active, observed=observed)
        if active is not None and observed is not None and self._t % 7 == 0:
            w = w * 1.001
            w.setflags(write=False)
            self._w = w
        return w


class Heirless(Gradient):
    """Leaves nothing to anybody when the last holder goes."""

    def update(self, x, y, *, active=None, observed=None):
        held = self._w
        w = super().update(x, y, active=active, observed=observed)
        if active is not None and not (held[np.asarray(active)] > 0).any():
            w = np.zeros(self.n_assets)
            w.setflags(write=False)
            self._w = w
        return w


#: Who breaks which promise, by the name of the check.
BREAKERS: dict[str, type[OnlineAlgorithm]] = {
    "shape_of_the_class": Mute,
    "clone_is_independent": Twins,
    "many_rounds_at_once_equal_one_by_one": Hurried,
    "state_is_not_shared": Lender,
    "broken_state_is_refused": Credulous,
    "weights_cannot_corrupt_the_state": Exposed,
    "universe_of_one": Sociable,
    "equivalent_input_gives_equal_weights": Picky,
    "the_layout_of_the_input_changes_no_bit": Strided,
    "bad_number_of_assets": Generous,
    "full_masks_are_no_masks": MaskShy,
    "inactive_assets_hold_nothing_and_say_nothing": Nosy,
    "inactive_assets_might_as_well_not_exist": Counter,
    "newcomers_enter_at_zero_and_move_later": Eager,
    "returning_asset_is_a_newcomer": Nostalgic,
    "nothing_moves_when_nobody_is_seen": Restless,
    "restricting_the_start": Lopsided,
    "restricting_twice_changes_nothing_more": Shaky,
    "restriction_and_update_agree": Shaky,
    "weights_stay_on_the_simplex_in_a_restless_universe": Drifter,
    "last_holder_leaves": Heirless,
    "state_round_trip": Forgetful,
    "inputs_are_neither_changed_nor_kept": Keeper,
    "permuting_assets_permutes_weights": Partial,
    "memory_does_not_grow": Hoarder,
    "bad_input_changes_nothing": Hasty,
    "adversarial_rounds": Leaver,
    "unseen_assets_are_frozen": Mover,
}
