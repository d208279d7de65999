"""From the name of a strategy to its class: one table, one way, for every command and every package.

The table is plain data: whether a name is known is answered without importing backtrader, pandas or a learner.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

from datafeeds.texts import did_you_mean
from tracker_strategies.errors import OldNameWarning, ParameterError, TrackerError

if TYPE_CHECKING:
    from tracker_strategies.strategies.base import TrackerStrategy

#: Name on the command line, the folder of its family and its class, in the order in which they are listed.
NAMES: dict[str, tuple[str, str]] = {
    "ensemble": ("share_counts", "EnsembleTracker"),
    "tilted-ensemble": ("share_counts", "TiltedEnsembleTracker"),
    "least-squares": ("least_squares", "LeastSquaresTracker"),
    "pa": ("passive_aggressive", "PATracker"),
    "pas": ("passive_aggressive", "PASTracker"),
    "apas": ("passive_aggressive", "APASTracker"),
    "multiplicative-pa": ("passive_aggressive", "MultiplicativePATracker"),
    "adagrad": ("gradient", "AdaGradTracker"),
    "vaw": ("vaw", "VAWTracker"),
    "discounted-vaw": ("vaw", "DiscountedVAWTracker"),
    "adaptive-discount": ("vaw", "AdaptiveDiscountTracker"),
    "sparse-pls": ("sparse_pls", "SparsePLSTracker"),
    "multi-index": ("passive_aggressive", "MultiIndexTracker"),
    "rls": ("regression", "RLSTracker"),
    "recursive-lars": ("regression", "RecursiveLarsTracker"),
    "adaptive-lasso": ("regression", "AdaptiveLassoTracker"),
    "slait": ("passive_aggressive", "SLAITTracker"),
    "random-portfolio": ("regression", "RandomPortfolios"),
    "equal-weight": ("baselines", "EqualWeight"),
    "buy-and-hold": ("baselines", "BuyAndHold"),
    "constant-weight": ("baselines", "ConstantWeight"),
    "replicate": ("baselines", "Replicate"),
}
#: Strategies that cannot run without known weights of the index.
NEED_WEIGHTS = ("replicate",)
#: Names that have changed; the old ones go with the next release.
OLD_NAMES = {"enhanced-ensemble": "tilted-ensemble", "EnhancedEnsembleTracker": "tilted-ensemble"}
#: Params that have changed their names, likewise.
OLD_PARAMS = {"bars_a_year": "bars_per_year", "enhance": "margin"}
#: Params that are no more: known only to be refused with what to write instead.
GONE_PARAMS = ("te_budget", "budget_bars")
#: Params that no list shows.
HIDDEN_PARAMS = (*OLD_PARAMS, *GONE_PARAMS)
#: Strategies that have a tilt, and take a budget for it.
TILTED = ("tilted-ensemble", "pas", "apas")
_BY_CLASS = {cls: name for name, (_, cls) in NAMES.items()}


def is_strategy(name: str) -> bool:
    """Whether a word is the name of a strategy of this project, as a command (``pa``) or as a class (``PATracker``)."""
    return name in NAMES or name in _BY_CLASS or name in OLD_NAMES


def check_name(name: str) -> None:
    """Raise :class:`ParameterError` for a word that can be no strategy; a file or a module behind it is not opened."""
    if name.endswith((".py", ":")) or name.startswith(":"):
        raise ParameterError(f"{name!r} is incomplete; write path/to/file.py:Class for a class in a file")
    if not is_strategy(name) and ":" not in name:
        raise ParameterError(
            f"unknown strategy {name!r}{did_you_mean(name, NAMES)}; choose one of {', '.join(NAMES)}, or path/to/file.py:Class "
            "for your own"
        )


def load_strategy(name: str) -> type[TrackerStrategy]:
    """The class of a strategy: by its name, its class's name, ``path/to/file.py:Class``, or ``module:Class``.

    The class in a file may also be a learner, whose Strategy is made from it:
    :func:`~tracker_strategies.strategies.base.strategy_of`.

    Raises
    ------
    ParameterError
        When the name is unknown, the file cannot be imported, or what it names is neither a strategy nor a learner.
    """
    check_name(name)
    if is_strategy(name):
        if name in OLD_NAMES:
            said = f"{name} is now called {OLD_NAMES[name]}; the old name will be removed in the next release"
            warnings.warn(said, OldNameWarning, 2)
        family, cls = NAMES[OLD_NAMES.get(name) or _BY_CLASS.get(name, name)]
        found: type[TrackerStrategy] = getattr(importlib.import_module(f"tracker_strategies.strategies.{family}"), cls)
        return found
    from tracker_strategies.algorithms import OnlineAlgorithm
    from tracker_strategies.strategies.base import TrackerStrategy, strategy_of

    where, _, attribute = name.rpartition(":")
    try:
        module = _from_file(Path(where).expanduser()) if where.endswith(".py") else importlib.import_module(where)
        own = getattr(module, attribute, None)
        if own is None:
            classes = [k for k, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__]
            raise LookupError(f"it has no class {attribute}; its classes are {', '.join(classes) or 'none'}")
        if isinstance(own, type) and issubclass(own, OnlineAlgorithm):
            own = strategy_of(own)
    except (Exception, SystemExit) as problem:  # a user's file may raise anything while it is imported
        raise ParameterError(f"cannot load the strategy {name!r}: {_told(problem)}") from problem
    if not (isinstance(own, type) and issubclass(own, TrackerStrategy)):
        raise ParameterError(f"{name!r} is neither a strategy nor a learner; derive it from TrackerStrategy or OnlineAlgorithm")
    if vars(own).get("alias_name") in NAMES and not own.__module__.startswith("tracker_strategies."):
        raise ParameterError(
            f"{name!r}: its alias_name {own.alias_name!r} is the name of a built-in strategy; choose another one"
        )
    return own


def failure_of(strategy: type[TrackerStrategy], problem: Exception) -> Exception:
    """What to raise when a run has raised: a user's own class by name, on one line; anything else as it is."""
    if isinstance(problem, TrackerError) or strategy.__module__.startswith("tracker_strategies."):
        return problem
    own = vars(strategy).get("learner", strategy)
    file = getattr(sys.modules.get(strategy.__module__), "__file__", None)
    lines = [
        frame.lineno
        for frame in extract_tb(problem.__traceback__)
        if Path(frame.filename).absolute() == Path(file or "").absolute()
    ]
    place = f" (line {lines[-1]} of {file})" if lines else ""
    return ParameterError(f"{own.__name__} raised {_told(problem)}{place}; fix it, or change the parameters given to it")


def _told(problem: BaseException) -> str:
    """Kind and words of an error, on one line."""
    return f"{type(problem).__name__}: {' '.join(str(problem).split())}"


def full_name(name: str) -> str:
    """The name under which a strategy is found from any folder: the command's, or with the absolute path of its file.

    Raises :class:`ParameterError` as :func:`load_strategy` does.
    """
    load_strategy(name)
    where, _, attribute = name.rpartition(":")
    if where.endswith(".py"):
        return f"{Path(where).expanduser().absolute()}:{attribute}"
    return OLD_NAMES.get(name) or _BY_CLASS.get(name, name)


def labels_of(classes: Sequence[type[TrackerStrategy]]) -> list[str]:
    """A name for people for each of several strategies: the command's, or that of a class of one's own; none stands twice."""
    own = [vars(cls).get("alias_name") or cls.__name__ for cls in classes]
    return [name if own.count(name) == 1 else f"{name}-{own[: i + 1].count(name)}" for i, name in enumerate(own)]


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    name = f"strategy_file_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]}"
    source, known = path.read_bytes(), sys.modules.get(name)
    if known is not None and vars(known).get("__source__") == source:
        return known  # the same class for the same text, however often it is asked for
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # backtrader looks its classes' modules up
    # From the source, not by the loader: that would take an old bytecode for a file changed within the second.
    exec(compile(source, str(path), "exec"), vars(module))
    vars(module)["__source__"] = source
    return module


def default_params(cls: type[TrackerStrategy]) -> dict[str, Any]:
    """Parameters of a strategy with their defaults, those of its algorithm first."""
    from tracker_strategies.strategies.base import TrackerStrategy

    every = dict(cls.params._getitems())
    common = dict(TrackerStrategy.params._getitems())
    return {**{k: v for k, v in every.items() if k not in common}, **{k: every[k] for k in common}}


def none_for(value: Any, default: Any) -> Any:
    """A value, or None for the word ``none`` where the default is no word."""
    return None if isinstance(value, str) and value == "none" and not isinstance(default, str) else value


def strategy_class(given: Any) -> type[TrackerStrategy]:
    """A strategy by its class, or by a name as in :func:`load_strategy`.

    Raises
    ------
    ParameterError
        It is neither.
    """
    from tracker_strategies.strategies import TrackerStrategy

    if isinstance(given, str):
        return load_strategy(given)
    if not (isinstance(given, type) and issubclass(given, TrackerStrategy)):
        raise ParameterError(f"strategy={given!r} must be a name, such as 'ensemble', or a subclass of TrackerStrategy")
    return given


def check_params(cls: type[TrackerStrategy], params: Mapping[str, Any]) -> None:
    """Raise :class:`ParameterError` for a name that the strategy does not have, or a budget that it has no use for."""
    known = default_params(cls)
    for name in params:
        if name not in known:
            told = ", ".join(param for param in known if param not in HIDDEN_PARAMS)
            near = did_you_mean(name, (param for param in known if param not in HIDDEN_PARAMS))
            raise ParameterError(f"{cls.alias_name or cls.__name__} has no parameter {name!r}; it has {told}{near}")
    if params.get("max_tracking_error") is not None:
        refuse_budget(cls, params["max_tracking_error"])


def refuse_budget(cls: type[TrackerStrategy], budget: Any) -> None:
    """Raise :class:`ParameterError` for a tracking-error budget where there is no tilt that could be cut."""
    if not cls.tilts:
        raise ParameterError(
            f"{cls.alias_name or cls.__name__} has no tilt to reduce, so it cannot use max_tracking_error={budget!r}; "
            f"omit it, or choose one of {', '.join(TILTED)}"
        )


def unknown_to(params: Iterable[str], classes: Mapping[str, type[TrackerStrategy]]) -> list[str]:
    """A sentence for each parameter that some of the strategies do not have: they run without it."""
    found = []
    for key in params:
        without = [label for label, cls in classes.items() if key not in default_params(cls)]
        if without:
            found.append(f"{key} is not a parameter of {', '.join(without)} and is ignored there")
    return found
