"""The stand-in market of the APAS reproduction: returns with the moments of a year of S&P 500 names, and an index of them.

The paper draws returns from the sample moments of the S&P 500 and gives neither the moments nor the weights and the noise of the
index. Here the moments come from one factor, sectors and names with the spread that the market has; see :class:`StandIn`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MARKET_VOLATILITY = 0.0113
BETA = (1.1, 0.36, 0.2, 2.5)
"""Mean, standard deviation and bounds of the market's pull on a name."""
LOG_OWN_VOLATILITY = (-4.43, 0.34)
OWN_WITH_BETA, MEAN_WITH_BETA = 0.59, 0.38
"""Correlations of the log of a name's own volatility, and of its mean return, with its beta."""
MEAN_RETURN = (9e-4, 8e-4)
SECTORS, SECTOR_SHARE = 10, 0.2
"""Sectors, and the share of a name's own variance that its sector has in common."""
NOISE = 5e-4
DEGREES = 3
"""Degrees of freedom of the heavy-tailed draws."""
WORST_RETURN = -0.95
"""Returns are cut here. Three degrees of freedom could draw a loss of more than everything, which no share can make."""


@dataclass(frozen=True, eq=False)
class StandIn:
    """Moments of N names and the weights of their index.

    Attributes
    ----------
    beta, own, mean : ndarray, shape (N,)
        Pull of the market, own volatility and mean return a day.
    sector : ndarray of int, shape (N,)
    target : ndarray, shape (N,)
        Weights of the index: standard log-normal, normalised.
    """

    beta: FloatArray
    own: FloatArray
    mean: FloatArray
    sector: NDArray[np.int64]
    target: FloatArray

    @classmethod
    def draw(cls, rng: np.random.Generator, n_assets: int) -> StandIn:
        """A market of its own."""
        pull, own, mean = rng.standard_normal((3, n_assets))
        own = OWN_WITH_BETA * pull + np.sqrt(1.0 - OWN_WITH_BETA**2) * own
        mean = MEAN_WITH_BETA * pull + np.sqrt(1.0 - MEAN_WITH_BETA**2) * mean
        weights = np.exp(rng.standard_normal(n_assets))
        return cls(
            beta=np.clip(BETA[0] + BETA[1] * pull, BETA[2], BETA[3]),
            own=np.exp(LOG_OWN_VOLATILITY[0] + LOG_OWN_VOLATILITY[1] * own),
            mean=MEAN_RETURN[0] + MEAN_RETURN[1] * mean,
            sector=rng.integers(0, SECTORS, n_assets),
            target=weights / weights.sum(),
        )


@dataclass(frozen=True, eq=False)
class DataSet:
    """One data set, in all four combinations of tails: they share their normal draws, so that only the tails differ.

    Attributes
    ----------
    market : StandIn
    shocks : ndarray, shape (T, N)
        Normal returns around their means.
    noise : ndarray, shape (T,)
        Normal noise of the index.
    data_mix, noise_mix : ndarray, shape (T,)
        Chi-square draws. z/sqrt(chi2) has Student's t distribution and, with three degrees of freedom, the variance of z.
    """

    market: StandIn
    shocks: FloatArray
    noise: FloatArray
    data_mix: FloatArray
    noise_mix: FloatArray

    @classmethod
    def draw(cls, seed: int, number: int, rounds: int, n_assets: int) -> DataSet:
        """Data set `number` of a seed: the same however many others are drawn, and in which order."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        market = StandIn.draw(rng, n_assets)
        factor = MARKET_VOLATILITY * rng.standard_normal((rounds, 1))
        shared = rng.standard_normal((rounds, SECTORS))[:, market.sector]
        alone = rng.standard_normal((rounds, n_assets))
        shocks = factor * market.beta + market.own * (np.sqrt(SECTOR_SHARE) * shared + np.sqrt(1.0 - SECTOR_SHARE) * alone)
        noise = NOISE * rng.standard_normal(rounds)
        mixes = rng.chisquare(DEGREES, (2, rounds))
        return cls(market, shocks, noise, mixes[0], mixes[1])

    def sample(self, noise: str = "N", data: str = "N") -> tuple[FloatArray, FloatArray]:
        """Returns X, shape (T, N), of the names and y, shape (T,), of the index; "N" is normal, "t" Student's t."""
        shocks = self.shocks / np.sqrt(self.data_mix)[:, None] if data == "t" else self.shocks
        X = np.maximum(self.market.mean + shocks, WORST_RETURN)
        disturbed = self.noise / np.sqrt(self.noise_mix) if noise == "t" else self.noise
        return X, X @ self.market.target + disturbed
