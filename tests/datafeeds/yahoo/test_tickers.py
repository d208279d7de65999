"""Tickers from files of many habits."""

import pytest

from datafeeds import DataError, UniverseError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aaa\nBBB # second\n\n# nothing\n", ("AAA", "BBB")),
        ("AAA, BBB\nCCC", ("AAA", "BBB", "CCC")),
        ("\ufeffAAA\r\nAAA\r\n", ("AAA",)),
        ('Symbol,Name,Weight\nAAA,"Triple, A",1\nBBB,Double B,2\n', ("AAA", "BBB")),
        ("name,ticker\nTriple A,AAA\n", ("AAA",)),
    ],
)
def test_tickers_come_from_files_of_many_habits(tmp_path, text, expected):
    from datafeeds.yahoo.tickers import tickers_of

    (tmp_path / "list.txt").write_text(text, encoding="utf-8")
    assert tickers_of(tmp_path / "list.txt") == expected
    assert tickers_of(str(tmp_path / "list.txt")) == expected


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "holds no ticker"), (b"# none\n", "holds no ticker"), (b"\xff\xfe\x00A", "not text")]
)
def test_files_without_tickers_are_refused_by_name(tmp_path, content, says):
    from datafeeds.yahoo.tickers import tickers_of

    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(DataError if "text" in says else UniverseError, match=f"list.txt .*{says}"):
        tickers_of(tmp_path / "list.txt")
