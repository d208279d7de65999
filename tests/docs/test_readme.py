"""The README's Python example works as pasted, and what it says of the demo is what the demo prints."""

import re
from pathlib import Path

from tests.docs.scripts import printed

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs_as_pasted(tmp_path):
    signal, example = re.findall(r"```python\n(.*?)```", README, re.S)
    # The snippet about signals is a class to be used in the example: both run together, the class in place of PATracker.
    script = tmp_path / "example.py"
    imports, rest = example.split("cerebro = bt.Cerebro", 1)
    script.write_text(
        f"{imports}\nfrom tracker_strategies import PASTracker\n{signal}\ncerebro = bt.Cerebro{rest}\n"
        + ("cerebro = bt.Cerebro" + rest).replace("PATracker", "Trend").replace("eps=3e-4, ", "")
    )
    said = printed(script, tmp_path)
    assert len(re.findall(r"\d+\.\d bp a bar off the index", said)) == 2
    assert len(re.findall(r"\d+\.\d\d % of the account traded a bar", said)) == 2


def test_the_table_is_that_of_the_demo():
    from datafeeds import load_sample
    from tracker_strategies import CostModel, backtest

    rows = re.findall(r"^\| `([a-z-]+)`[^|]*\|([^|]+)\|([^|]+)\|([^|]+)\|([^|]+)\|([^|]+)\|$", README, re.M)
    assert [row[0] for row in rows] == ["ensemble", "pa", "equal-weight", "buy-and-hold"]
    panel = load_sample()
    for name, te, excess, turnover, cost, names in rows:
        m = backtest(panel, name, costs=CostModel(bps=5), orders=False).metrics()
        shown = tuple(float(x) for x in (te, excess, turnover, cost, names))
        real = (1e4 * m["te_rms"], m["excess_log_return"], 100 * m["turnover"], m["cost_bps"], m["n_holdings"])
        for s, r, digits in zip(shown, real, (2, 3, 2, 3, 1), strict=True):
            assert abs(s - r) <= 0.5000001 * 10**-digits


def test_every_make_target_and_command_it_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_what_it_says_of_the_best_constant_weights():
    """Non-negative least squares with a heavy row that makes the weights sum to one."""
    import numpy as np
    from scipy.optimize import nnls

    from datafeeds import load_sample

    panel = load_sample()
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    w, _ = nnls(np.vstack([panel.returns, np.full(panel.n_assets, 1e3)]), np.append(y, 1e3))
    miss = 1e4 * np.sqrt(np.mean((panel.returns @ w - y) ** 2))
    (said,) = re.findall(r"hindsight, miss by (\d+) bp a bar", README)
    assert abs(w.sum() - 1.0) < 1e-6
    assert abs(miss - float(said)) <= 0.5
