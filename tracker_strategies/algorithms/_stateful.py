"""Copies, storage and restoring of learners: one exact route for all of them.

A state may come from anywhere. :meth:`Stateful.from_state` believes nothing of it: sizes are compared before anything is built,
then every value with what its class says of it (:mod:`._kinds`) and with a fresh learner, then the parts with each other
(`_sound`), and last of all a copy goes on for a few ordinary rounds. What fails is a ParameterError. Copies of a learner in
memory skip all that.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from tracker_strategies.algorithms._kinds import FAR, MOST, Dims, Kinds, flag, real, short, whole
from tracker_strategies.algorithms._names import READERS, named, refuse_gone
from tracker_strategies.algorithms._state import Stored, pieces_under
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.errors import InputError, ParameterError

STATE_VERSION = 1
Learner = TypeVar("Learner", bound="Stateful")


class Stateful(Stored):
    """An object made by `Class(n_assets, **params)` whose attributes named in `_state` are all that later rounds depend on.

    Each keyword parameter is kept under its own name. A new class names its attributes in `_state`, and in `_kinds` those that
    are not like a fresh learner's or have a range; the size of an array that a parameter decides is named after it. Where values
    depend on each other, `_sound` says how.
    """

    n_assets: int
    _w: Array
    _active: Mask | None
    _t: int

    _kinds: ClassVar[Kinds] = {"_w": real("n", least=-FAR, most=FAR), "_active": flag("n", none=True), "_t": whole()}

    _inside: ClassVar[dict[str, str]] = {}
    """Parameters that are learners, or lists of them, with the attribute that holds the one that learns."""

    @classmethod
    def _stored_names(cls) -> tuple[str, ...]:
        return ("_w", "_active", "_t", *cls._state)

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameter_names(type(self))}

    def params(self) -> dict[str, Any]:
        """Return the keyword parameters, defaults resolved, as plain values."""
        return {k: _plain_parameter(v) for k, v in self._parameters().items()}

    def _head(self) -> dict[str, Any]:
        return {"algorithm": self._key, "version": STATE_VERSION, "n_assets": self.n_assets}

    def state_dict(self) -> dict[str, Any]:
        """Return all that a bit-equal continuation needs.

        Numbers, strings and lists, i.e. JSON; only matrices stay arrays. Nothing in it is shared with the learner.
        """
        return {**self._head(), "params": self.params(), "state": self._values()}

    @classmethod
    def from_state(cls, d: dict[str, Any], **parameters: Any) -> Self:
        """Return the learner that :meth:`state_dict` described, also after a round trip through JSON.

        Parameters
        ----------
        d : dict
        **parameters
            Replace those of the state. Functions cannot be stored: side information that holds one is handed over again here.

        Raises
        ------
        ParameterError
            For everything that is not the state of such a learner, before memory is taken for it.
        """
        try:
            return cls._believed(d, parameters)
        except ParameterError:
            raise
        except Exception as problem:  # whatever a state from outside makes of a constructor is the state's fault
            raise ParameterError(f"not a state of {cls.__name__}: {type(problem).__name__}: {problem}") from problem

    @classmethod
    def _believed(cls, d: dict[str, Any], parameters: dict[str, Any]) -> Self:
        try:
            name, version, n_assets = d["algorithm"], d["version"], d["n_assets"]
            params, values = dict(d["params"]), dict(d["state"])
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise ParameterError(f"not a state of {cls.__name__}: missing or malformed {problem}") from problem
        refuse_gone(name)
        if name != cls._key or type(version) is not int or version != STATE_VERSION:
            found = f"{name if isinstance(name, str) else short(name)} version {short(version)}"
            raise ParameterError(f"a state of {found} cannot restore {cls._key} version {STATE_VERSION}")
        params |= parameters
        try:
            cls._check_before(n_assets, params, values)
            fresh = cls._made(n_assets, params)
            read = cls._read(values, fresh._dims(), fresh)
            learner = fresh.fresh()
            learner._restore(read)
            learner._check_sound()
            learner._try_out(fresh)
        except ParameterError as problem:
            raise ParameterError(f"not a state of {cls.__name__}: {problem}") from problem
        return learner

    @classmethod
    def _check_before(cls, n_assets: Any, params: dict[str, Any], values: dict[str, Any]) -> None:
        """Compare all sizes that are known before anything is built, of the learners inside as well."""
        if type(n_assets) is not int or not 1 <= n_assets < MOST:
            raise ParameterError(f"n_assets must be an integer >= 1, got {short(n_assets)}")
        if not all(isinstance(key, str) for key in values):
            raise ParameterError("the values of a state must have text keys, their names")
        whole_numbers = {k: v for k, v in params.items() if type(v) is int}
        for key, value in whole_numbers.items():
            if abs(value) >= MOST:
                raise ParameterError(f"{key} is {short(value)}, which is too large")
        cls._check_sizes(values, Dims(whole_numbers | {"n": n_assets}))
        for parameter, attribute in cls._inside.items():
            given = params.get(parameter)
            found = pieces_under(attribute, isinstance(given, list), values)
            for described, (_, inner) in zip(given if isinstance(given, list) else [given], found, strict=False):
                if isinstance(described, dict) and "algorithm" in described:
                    if described.get("n_assets") != n_assets:
                        raise ParameterError(f"a learner inside it must have the same number of assets, {n_assets}")
                    named(Stateful, described["algorithm"])._check_before(n_assets, dict(described["params"]), inner)

    def _dims(self) -> Dims:
        """Return the sizes that parameters and the arrays of a fresh learner tell."""
        return self._sizes(Dims({k: v for k, v in self._parameters().items() if type(v) is int} | {"n": self.n_assets}))

    def _sound(self) -> None:
        W = getattr(self, "feasible", None)
        if W is not None and W.portfolio:
            total, found = float(W.total), float(self._w.sum())
            if not (float(self._w.min()) >= 0.0 and abs(found - total) <= 1e-9 * max(total, 1.0)):
                raise ParameterError(f"_w must be >= 0 with sum {total:g}, got a minimum of {self._w.min():g} and {found:.12g}")
        if self._active is not None and (not self._active.any() or self._w[~self._active].any()):
            raise ParameterError("_active must allow at least one asset, and all others must have weight 0")

    def _try_out(self, fresh: Stateful) -> None:
        """Let a copy go on for some ordinary rounds, and raise a ParameterError unless it is in a sound state afterwards."""
        copy = self.clone()
        try:
            with np.errstate(all="ignore"):
                copy._go_on()
                copy._read(copy._values(), fresh._dims(), fresh)
                copy._check_sound()
        except Exception as problem:
            raise ParameterError(f"no learner can continue from it: {type(problem).__name__}: {problem}") from problem

    def _go_on(self) -> None:
        """Learn from ordinary rounds: of all assets, without one of them, and of all again."""
        x = 0.01 * np.cos(np.arange(1.0, self.n_assets + 1.0))
        mask = np.ones(self.n_assets, dtype=np.bool_) if self._active is None else self._active.copy()
        mask[int(mask.argmax())] = np.count_nonzero(mask) == 1
        for k, masks in enumerate(({}, {}, {"active": mask}, {}, {})):
            for y in (0.004, 1.0, [0.004] * int(getattr(self, "n_targets", 1))):  # returns, labels or several targets
                try:
                    self.update((1.0 - 0.7 * k) * x, y, **masks)  # type: ignore[attr-defined]
                    break
                except InputError:
                    if isinstance(y, list) and not self._may_refuse(bool(masks)):  # type: ignore[attr-defined]
                        raise

    @classmethod
    def _made(cls, n_assets: Any, params: dict[str, Any]) -> Self:
        """Return a fresh learner from parameters as :meth:`params` gives them."""
        try:
            return cls(n_assets, **{k: _parameter(v) for k, v in params.items()})  # type: ignore[call-arg]
        except TypeError as problem:
            raise ParameterError(f"not a state of {cls.__name__}: {problem}") from problem

    def _restore(self, values: dict[str, Any]) -> None:
        super()._restore(values)
        self._w.setflags(write=False)

    def fresh(self) -> Self:
        """Return a learner with the same parameters that has not learnt anything yet."""
        return self._made(self.n_assets, self._parameters())

    def clone(self) -> Self:
        """Return an independent copy in the same state."""
        return _copied(type(self), self.n_assets, self._parameters(), self._values())

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (type(self), self.n_assets, self._parameters(), self._values())

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={getattr(self, k)!r}" for k in _parameter_names(type(self)) if k != "start")
        return f"{type(self).__name__}({self.n_assets}, {given})"


def _copied(cls: type[Learner], n_assets: int, parameters: dict[str, Any], values: dict[str, Any]) -> Learner:
    """Return the copy of a learner in memory: nothing of it is doubted, and sets and side information are shared."""
    learner = cls._made(n_assets, parameters)
    learner._restore(values)
    return learner


def _parameter_names(cls: type) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(cls).parameters if name != "n_assets")


def _plain_parameter(value: Any) -> Any:
    """Return a parameter as plain values; a learner among the parameters as what makes a fresh one."""
    if isinstance(value, Stateful):
        return value._head() | {"params": value.params()}
    if isinstance(value, list | tuple) and any(isinstance(v, Stateful) for v in value):
        return [_plain_parameter(v) for v in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def _parameter(value: Any) -> Any:
    """Return the parameter that :func:`_plain_parameter` described."""
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        return [_parameter(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "algorithm" in value:
        return named(Stateful, value["algorithm"])._made(value["n_assets"], value["params"])
    for tag, reader in READERS.items():
        if tag in value:
            return reader(value)
    allowed = ", ".join(("algorithm", *READERS))
    raise ParameterError(f"a parameter stored as a dict needs one of the entries {allowed}; got {sorted(value)}")
