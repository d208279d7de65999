"""The README's Python example works as pasted, and what it says of the demo is what the demo prints."""

import re
from pathlib import Path

from tests.docs.scripts import printed

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs_as_pasted(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len([line for line in example.splitlines() if line.strip() and not line.startswith(("import", "from"))]) <= 10
    script = tmp_path / "example.py"
    script.write_text(example)
    assert re.fullmatch(r"tracking error: \d+\.\d bp per bar\n", printed(script, tmp_path))


def test_it_is_read_in_three_minutes():
    assert len(README.splitlines()) <= 110


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


def test_what_it_says_of_the_best_constant_weights_and_share_counts():
    from datafeeds import load_sample
    from tracker_strategies.research.data_check import tracking_floor

    found = tracking_floor(load_sample())
    weights, counts = re.findall(r"hindsight, reach (\d+) bp per bar, the best constant share counts (\d+)", README)[0]
    assert abs(1e4 * found["floor_te_rms"] - float(weights)) <= 0.5
    assert abs(1e4 * found["shares_te_rms"] - float(counts)) <= 0.5
