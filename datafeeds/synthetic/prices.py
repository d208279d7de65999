"""Prices of the synthetic market: a universe with market, sector and own risk, Student-t shocks, regimes, and full bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Daily moments of large US stocks. Drifts are milder than in a single good year, so that ten years of prices stay in range.
MARKET_VOLATILITY = 0.0113
BETA_MEAN, BETA_SD, BETA_RANGE = 1.1, 0.36, (0.2, 2.5)
LOG_VOLATILITY_MEAN, LOG_VOLATILITY_SD, LOG_VOLATILITY_BETA = -4.43, 0.34, 0.59
DRIFT_MEAN, DRIFT_SD, DRIFT_BETA = 4e-4, 2e-4, 0.38
N_SECTORS, SECTOR_SHARE = 10, 0.2
N_EXCHANGES = 3
LOG_PRICE_MEAN, LOG_PRICE_SD = 4.0, 0.6
LOG_CAP_SD = 1.2
#: Share of a bar's variance that falls between the previous close and the open.
OVERNIGHT = 0.25

#: One regime: a multiple of all volatilities, or (multiple, extra drift of the market per bar).
Regime = float | tuple[float, float]


@dataclass(frozen=True, eq=False)
class Universe:
    r"""What is constant about N assets.

    Parameters
    ----------
    betas : (N,)
        Exposure to the market, :math:`\beta_i`.
    volatilities : (N,)
        Standard deviation per bar of the part that is not the market's, :math:`\sigma_i`.
    drifts : (N,)
        Expected simple return per bar, :math:`\mu_i`.
    sectors, exchanges : (N,) int
        Groups that share a factor, and groups that share holidays.
    first_price : (N,)
        Close of the first bar.
    shares : (N,)
        Shares outstanding at the first bar.
    """

    betas: FloatArray
    volatilities: FloatArray
    drifts: FloatArray
    sectors: IntArray
    exchanges: IntArray
    first_price: FloatArray
    shares: FloatArray


def draw_universe(n_assets: int, rng: np.random.Generator) -> Universe:
    """Betas, volatilities and drifts with the correlations that large stocks show; log-normal capitalisations."""
    z = rng.standard_normal((5, n_assets))
    own, drift = np.sqrt(1.0 - LOG_VOLATILITY_BETA**2), np.sqrt(1.0 - DRIFT_BETA**2)
    price = np.exp(LOG_PRICE_MEAN + LOG_PRICE_SD * z[3])
    return Universe(
        betas=np.clip(BETA_MEAN + BETA_SD * z[0], *BETA_RANGE),
        volatilities=np.exp(LOG_VOLATILITY_MEAN + LOG_VOLATILITY_SD * (LOG_VOLATILITY_BETA * z[0] + own * z[1])),
        drifts=DRIFT_MEAN + DRIFT_SD * (DRIFT_BETA * z[0] + drift * z[2]),
        sectors=rng.integers(N_SECTORS, size=n_assets),
        exchanges=rng.integers(N_EXCHANGES, size=n_assets),
        first_price=price,
        shares=1e9 * np.exp(LOG_CAP_SD * z[4]) / price,
    )


def regime_path(regimes: Sequence[Regime], n_bars: int) -> tuple[FloatArray, FloatArray]:
    """Volatility multiple and extra market drift of every bar; regimes follow each other in periods of equal length."""
    pairs = np.array([r if isinstance(r, tuple) else (r, 0.0) for r in regimes], dtype=np.float64)
    path = pairs[np.arange(n_bars) * len(pairs) // n_bars]
    return path[:, 0], path[:, 1]


def student(rng: np.random.Generator, tail: float, shape: tuple[int, ...]) -> FloatArray:
    """Shocks of variance one with `tail` degrees of freedom; normal ones for infinity."""
    if np.isinf(tail):
        return rng.standard_normal(shape)
    shocks = rng.standard_t(tail, shape)
    shocks *= np.sqrt((tail - 2.0) / tail)
    return shocks


def draw_log_prices(
    universe: Universe,
    n_bars: int,
    regimes: Sequence[Regime],
    tail: float,
    rngs: tuple[np.random.Generator, np.random.Generator, np.random.Generator],
) -> FloatArray:
    r"""(T, N) log prices, by the factor model of :func:`datafeeds.synthetic.market.simulate_market`.

    Shocks are drawn bar after bar, each factor from its own stream, so that a longer market begins with the shorter one.
    """
    beta, own = universe.betas, universe.volatilities
    level, extra = regime_path(regimes, n_bars)
    variance = (beta * MARKET_VOLATILITY) ** 2 + own**2
    market = MARKET_VOLATILITY * student(rngs[0], tail, (n_bars,))
    sector = np.sqrt(SECTOR_SHARE) * student(rngs[1], tail, (n_bars, N_SECTORS))
    steps = student(rngs[2], tail, (n_bars, len(beta)))
    steps *= np.sqrt(1.0 - SECTOR_SHARE)
    steps += sector[:, universe.sectors]
    steps *= own
    steps += market[:, None] * beta
    steps *= level[:, None]
    steps += universe.drifts
    steps += extra[:, None] * beta
    steps -= 0.5 * (level**2)[:, None] * variance
    steps[0] = np.log(universe.first_price)
    return np.cumsum(steps, axis=0, out=steps)


def draw_bars(
    log_close: FloatArray, close: FloatArray, universe: Universe, regimes: Sequence[Regime], rng: np.random.Generator
) -> dict[str, FloatArray]:
    r"""Open, high, low and volume around given closes.

    The open takes a quarter of the bar's return and of its variance as an overnight gap. Between open :math:`o` and close
    :math:`c` (in logs) the price is a Brownian bridge of variance :math:`s^2`, whose maximum is drawn exactly,

    .. math:: h = \tfrac12 \Bigl(o + c + \sqrt{(c - o)^2 - 2 s^2 \ln U}\Bigr), \qquad U \sim \mathcal U(0, 1],

    and its minimum by the mirror image with another :math:`U`. Volume is a log-normal share of the shares outstanding.
    """
    level = regime_path(regimes, len(close))[0][:, None]
    deviation = np.sqrt((universe.betas * MARKET_VOLATILITY) ** 2 + universe.volatilities**2)

    def extreme(sign: float) -> FloatArray:
        reach = rng.standard_exponential(close.shape)  # -ln U
        reach *= 2.0 * (1.0 - OVERNIGHT) * deviation**2
        reach *= level**2
        reach += (log_close - opening) ** 2
        np.sqrt(reach, out=reach)
        reach *= 0.5 * sign
        reach += 0.5 * (opening + log_close)
        return np.exp(reach, out=reach)

    opening = rng.standard_normal(close.shape)
    opening *= np.sqrt(OVERNIGHT * (1.0 - OVERNIGHT)) * deviation
    opening *= level
    opening[0] += log_close[0]
    opening[1:] += (1.0 - OVERNIGHT) * log_close[:-1] + OVERNIGHT * log_close[1:]
    high, low = extreme(1.0), extreme(-1.0)
    opened = np.exp(opening, out=opening)
    for edge, outermost in ((high, np.maximum), (low, np.minimum)):  # the last bit of exp()
        outermost(edge, opened, out=edge)
        outermost(edge, close, out=edge)
    volume = rng.standard_normal(close.shape)
    volume *= 0.5
    volume -= 6.0
    np.exp(volume, out=volume)
    volume *= universe.shares
    np.rint(volume, out=volume)
    return {"open": opened, "high": high, "low": low, "volume": volume}
