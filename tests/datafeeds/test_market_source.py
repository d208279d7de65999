"""One description of a market, and the one reader of key=value."""

import numpy as np
import pytest

from datafeeds import DataError, MarketSource, open_source, synthetic_market
from datafeeds.errors import ParameterError
from datafeeds.texts import parse_pairs, parse_value


def test_a_description_opens_what_its_words_open():
    for words in (
        {},
        {"source": "synthetic", "seed": 4},
        {"source": "synthetic", "targets": ("INDEX2", "INDEX"), "clean": "flag"},
    ):
        panel, same = MarketSource(**words).open(), open_source(**{"source": "sample", **words})
        assert panel.fingerprint() == same.fingerprint()
        assert (panel.source, panel.targets, panel.cleaning) == (same.source, same.targets, same.cleaning)


def test_a_synthetic_market_takes_arguments():
    panel = MarketSource("synthetic:n_assets=5, n_bars=40,ohlc=True", ("INDEX2",), seed=7).open()
    drawn = synthetic_market(5, 40, seed=7, n_indices=2, ohlc=True)
    assert (panel.symbols, panel.targets, panel.source) == (drawn.symbols, ("INDEX2",), "synthetic")
    for name in ("close", "open", "high", "low"):
        np.testing.assert_array_equal(getattr(panel, name), getattr(drawn, name))
    np.testing.assert_array_equal(panel.target_close, drawn.target_close[:, 1:])


@pytest.mark.parametrize(("name", "word"), [("gaps", "freeze"), ("adjust", "split"), ("clean", "winsorise")])
def test_a_word_that_is_no_choice_is_refused_with_the_choices(name, word):
    with pytest.raises(DataError, match=f"{name}='perhaps' is unknown; choose one of .*{word}"):
        MarketSource(**{name: "perhaps"})


def test_values_are_read_as_python_reads_them_and_text_stays_text():
    for text, value in (("1", 1), (" 1e-4 ", 1e-4), ("None", None), ("True", True), ("(1, 2)", (1, 2)), ("'a'", "a")):
        assert parse_value(text) == value
        assert type(parse_value(text)) is type(value)
    for text in ("weekly", "AAPL:0.5,AMD:0.5", "none", "1,", "2024-01-02x"):
        assert parse_value(text) == (text if text != "1," else (1,))


def test_pairs_need_a_key_and_an_equals_sign():
    assert parse_pairs(["eps = 3", "weights=A:1=2", "eps=4"], "--param") == {"eps": 4, "weights": "A:1=2"}
    for pair in ("eps", "=3", " =3"):
        with pytest.raises(ParameterError, match=r"--param .* must look like key=value, for example eps=3"):
            parse_pairs([pair], "--param", "eps=3")
