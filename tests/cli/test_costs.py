"""What was charged stands under the table, and a fee that makes trading pointless is said."""

import pytest

from tests.cli.commands import tracker
from tracker_strategies.execution.costs import CostModel


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        (CostModel(), "no costs"),
        (CostModel(bps=5), "5 bp costs"),
        (CostModel(per_share=0.005, min_fee=1.0), "0.005 per share, at least 1 per order"),
        (CostModel(bps=2.5, slippage_bps=1), "2.5 bp costs, 1 bp slippage"),
    ],
)
def test_costs_in_words_name_every_part(costs, words):
    assert costs.in_words() == words


def test_the_caption_says_what_was_charged(csv):
    done = tracker("run", "equal-weight", "--data", csv, "--min-fee", "2", "--per-share", "0.01")
    assert done.returncode == 0, done.stderr
    assert "0.01 per share, at least 2 per order" in " ".join(done.stdout.split())
    assert "0 bp costs" not in done.stdout
    assert "pointless" not in done.stderr


def test_a_fee_that_makes_trading_pointless_is_said(csv):
    done = tracker("run", "equal-weight", "--data", csv, "--min-fee", "100000")
    told = " ".join(done.stderr.split())
    assert "a fee of at least 100,000 per order makes trading pointless" in told
    assert "the account pays for at most 10 orders" in told
    more = tracker("run", "equal-weight", "--data", csv, "--min-fee", "2000000")
    assert "nothing can be bought" in " ".join(more.stderr.split())
