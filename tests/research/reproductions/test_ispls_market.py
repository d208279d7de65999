"""Section 5 of the iS-PLS paper, and small portfolios, on real prices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.markets import SHARED
from tests.research.reproductions.test_ispls import panel
from tracker_strategies.algorithms import SparsePLS
from tracker_strategies.research.reproductions.ispls.market import WARM_UP, _path, bivariate, read_market, small_portfolio

DATA = SHARED / "data"


def real(name: str):
    path = DATA / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"the real market {name} is not here: ../shared/data is absent")
    return path


def test_two_markets_are_joined_on_their_common_dates() -> None:
    market = read_market([panel(1, source="a.csv"), panel(2, source="b.csv", first="2010-02-05")])
    assert market.X.shape == (145, 28)
    assert market.indices == ("a", "b")
    assert market.names[0] == "a:S0"
    first, second = panel(1), panel(2, first="2010-02-05")
    np.testing.assert_allclose(market.X[0, :14], first.close[5] / first.close[4] - 1.0, atol=1e-15)
    np.testing.assert_allclose(market.Y[0, 1], second.target_close[1, 0] / second.target_close[0, 0] - 1.0, atol=1e-15)


def test_figures_are_those_of_the_portfolios_that_were_held() -> None:
    """Checked by hand for one method: weights before a round, returns of the round."""
    market = read_market([panel(4, source="a.csv"), panel(5, source="b.csv")])
    found = bivariate(market, members=10)
    (row,) = (r for r in found["rows"] if r["method"] == "Equal weight" and r["index"] == "b")
    returns = market.X.mean(axis=1)[WARM_UP:]
    excess = np.log1p(returns).sum() - np.log1p(market.Y[WARM_UP:, 1]).sum()
    assert row["excess_return"] == pytest.approx(excess, abs=1e-12)
    target = (1.0 + market.Y[WARM_UP:, 1]) * 1.15 ** (1.0 / market.periods) - 1.0
    assert row["tracking_error"] == pytest.approx(np.sqrt(((returns - target) ** 2).mean()), abs=1e-15)
    assert row["names"] == 28.0
    own = [r for r in found["rows"] if r["method"].startswith("iS-PLS")]
    assert len(own) == 6
    assert max(r["names"] for r in own) <= 10.0
    assert found["scored"] == len(market.X) - WARM_UP


def test_weights_of_a_round_do_not_know_its_returns() -> None:
    market = read_market([panel(6)])
    other = market.X.copy()
    other[100:] *= -3.0
    paths = [_path(SparsePLS(14, theta=4), X, market.Y[:, 0])[0] for X in (market.X, other)]
    np.testing.assert_array_equal(paths[0][:101], paths[1][:101])
    assert not np.array_equal(paths[0][101], paths[1][101])


def test_the_bivariate_experiment_on_the_s_and_p_100_and_the_nikkei() -> None:
    market = read_market([real("orlib_sp100_98_weekly"), real("orlib_nikkei225_weekly")])
    assert market.X.shape == (290, 323)
    found = bivariate(market, members=60)
    beaten = found["random"]["beaten"]
    assert beaten["iS-PLS, residual deflation, refit"]["in tracking error"] > 0.8
    assert beaten["iS-PLS, refit"]["in tracking error"] < 0.2, "one factor of ten names lies in one market"
    rows = {(r["method"], r["index"]): r for r in found["rows"]}
    for index in market.indices:  # the paper's claim of +15 % over both does not reproduce with any of our maps
        assert rows["iS-PLS, projected coefficients", index]["excess_return_a_year"] < 0.0
    assert sum(rows["R-LARS", i]["excess_return_a_year"] for i in market.indices) < 0.0


@pytest.mark.parametrize("name", ["sp500_2010_daily_RETURNS", "nasdaq100_2019_2020_daily"])
def test_a_small_portfolio_is_no_worse_than_the_median_random_one(name: str) -> None:
    frame = pd.read_csv(real(name), index_col=0)
    if not name.endswith("RETURNS"):
        frame = frame.pct_change().iloc[1:]
    y = frame.pop("INDEX").to_numpy()
    found = small_portfolio(frame.to_numpy(), y, names=50, members=25, prices=())
    rows = {r["method"]: r for r in found["rows"]}
    least, _, median, *_ = found["random"]["quantiles"]
    assert rows["iS-PLS"]["most_names"] <= 50
    assert rows["iS-PLS"]["rmse"] < median
    if name.startswith("sp500"):
        assert rows["iS-PLS"]["rmse"] < least  # than every one of the 25
        assert rows["iS-PLS"]["rmse"] < rows["iS-PLS, printed selection"]["rmse"]
        assert rows["iS-PLS"]["turnover"] < 0.5 * rows["iS-PLS, printed selection"]["turnover"]


def test_slait_stands_beside_it() -> None:
    market = read_market([panel(7)])
    found = small_portfolio(market.X, market.Y[:, 0], names=5, members=10, prices=(1e-6,))
    methods = [r["method"] for r in found["rows"]]
    assert methods == ["iS-PLS", "iS-PLS, printed selection", "SLAIT, price 1e-06", "Equal weight"]
    assert found["rows"][0]["most_names"] <= 5
    assert found["limit"] == 5
