"""An account as a file has it: columns as brokers call them, names as they spell them, and every kind of bad file by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datafeeds.errors import DataError
from tracker_strategies import Account
from tracker_strategies.errors import AccountError, ParameterError, TrackerError
from tracker_strategies.execution.holdings import Spelling


def read(folder: Path, text: str, **options: float) -> Account:
    file = folder / "holdings.csv"
    file.write_text(text, encoding="utf-8")
    return Account.read(file, **options)


@pytest.mark.parametrize("symbol", ["symbol", "Ticker", "INSTRUMENT", "Financial Instrument"])
@pytest.mark.parametrize("quantity", ["qty", "Quantity", "shares", "Position", "size"])
def test_columns_are_called_as_people_call_them(tmp_path: Path, symbol: str, quantity: str) -> None:
    account = read(tmp_path, f'{symbol},{quantity},price\nAAPL,10,150.5\nMSFT,0,\nCASH,"1,250.75",\n')
    assert account == Account(1250.75, {"AAPL": 10.0}, {"AAPL": 150.5})


def test_separators_and_marks_of_other_countries(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffsymbol;qty\nAAPL;10\nCASH;5\n") == Account(5.0, {"AAPL": 10.0})
    assert read(tmp_path, "symbol;qty;price\nAAPL;10,5;1.234,5\nCASH;5,25;\n") == Account(5.25, {"AAPL": 10.5}, {"AAPL": 1234.5})
    assert read(tmp_path, "symbol\tqty\r\nAAPL\t10\r\n", cash=7.0) == Account(7.0, {"AAPL": 10.0})


def test_positions_of_alpaca_as_they_are_exported(tmp_path: Path) -> None:
    text = (
        "asset_id,symbol,exchange,asset_class,qty,avg_entry_price,side,market_value,cost_basis,current_price,lastday_price\n"
        "904837e3,AAPL,NASDAQ,us_equity,12.5,140.1,long,1875.0,1751.25,150.0,149.0\n"
        "b0b6dd9d,BRK.B,NYSE,us_equity,3,300,long,930,900,310,309\n"
    )
    account = read(tmp_path, text, cash=100.0)
    assert account == Account(100.0, {"AAPL": 12.5, "BRK.B": 3.0}, {"AAPL": 150.0, "BRK.B": 310.0})
    with pytest.raises(DataError, match="AAPL is short"):
        read(tmp_path, text.replace("long", "short"))


def test_positions_of_interactive_brokers_as_they_are_exported(tmp_path: Path) -> None:
    statement = (
        "Statement,Header,Field Name,Field Value\n"
        "Statement,Data,Title,Activity Statement\n"
        "Cash Report,Header,Currency Summary,Currency,Total,Securities,Futures\n"
        "Cash Report,Data,Starting Cash,Base Currency Summary,50,50,0\n"
        "Cash Report,Data,Ending Cash,Base Currency Summary,1234.5,1234.5,0\n"
        "Cash Report,Data,Ending Cash,USD,1234.5,1234.5,0\n"
        "Open Positions,Header,DataDiscriminator,Asset Category,Currency,Symbol,Quantity,Mult,Cost Price,Close Price,Value\n"
        'Open Positions,Data,Summary,Stocks,USD,AAPL,"1,000",1,140,150,150000\n'
        'Open Positions,Data,Lot,Stocks,USD,AAPL,"1,000",1,140,150,150000\n'
        "Open Positions,Data,Summary,Stocks,USD,BRK B,3,1,300,310,930\n"
        "Open Positions,Total,,Stocks,USD,,,,,,150930\n"
    )
    account = read(tmp_path, statement)
    assert account == Account(1234.5, {"AAPL": 1000.0, "BRK B": 3.0}, {"AAPL": 150.0, "BRK B": 310.0})
    assert account.sizes(("AAPL", "BRK-B")).tolist() == [1000.0, 3.0]
    flex = "ClientAccountID,CurrencyPrimary,AssetClass,Symbol,Quantity,MarkPrice\nU1,USD,STK,AAPL,10,150\n"
    assert read(tmp_path, flex) == Account(0.0, {"AAPL": 10.0}, {"AAPL": 150.0})
    with pytest.raises(DataError, match="EUR, USD; an account has one currency"):
        read(tmp_path, flex + "U1,EUR,STK,SAP,10,150\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("symbol,qty\n", "no rows"),
        ("name,qty\nAAPL,1\n", "its columns are name, qty"),
        ("symbol,weight\nAAPL,1\n", "symbol .or ticker, instrument., and qty"),
        ("symbol,qty\nAAPL,ten\n", "the quantity of AAPL .row 2. is 'ten', which is not a number"),
        ("symbol,qty\nAAPL,\n", "a finite number, 0 for none"),
        ("symbol,qty\nAAPL,nan\n", "finite"),
        ("symbol,qty\nAAPL,inf\n", "finite"),
        ('symbol,qty\nAAPL,"1,5"\nMSFT,x\n', "write a decimal point"),
        ("symbol,qty\nAAPL,-3\n", "AAPL is short"),
        ("symbol,qty\nAAPL,3\nAAPL,4\n", "AAPL appears twice"),
        ("symbol,qty\n,3\n", "row 2 has no symbol"),
        ("symbol,qty,price\nAAPL,3,0\n", "a price must be positive"),
        ("symbol,qty\nCASH,3\ncash,4\n", "two rows CASH"),
        ("symbol,qty,qty\nAAPL,3,4\n", "appears 2 times"),
        ("symbol,qty\nAAPL,1,234\n", "has 3 fields, the header has 2"),
        ('symbol,qty\n"AAPL,3\n', "has 1 fields"),
        ("symbol,qty\nCASH,-5\n", "cash must be"),
        ("Statement,Header,Field Name,Field Value\nStatement,Data,Title,Activity\n", "Open Positions"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TrackerError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert "holdings.csv" in str(caught.value)


def test_bytes_that_are_no_table_are_refused_by_name(tmp_path: Path) -> None:
    for bad in (b"\x00\x01\x02", b"\xff\xfe\x00", b"PAR1 no parquet", bytes(range(256)) * 9):
        (tmp_path / "h.csv").write_bytes(bad)
        with pytest.raises(DataError, match=r"h\.csv"):
            Account.read(tmp_path / "h.csv")
    with pytest.raises(DataError, match="no such file"):
        Account.read(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="folder"):
        Account.read(tmp_path)


def test_whatever_becomes_of_a_file_it_is_read_or_refused_by_name(tmp_path: Path) -> None:
    rng, file = np.random.default_rng(4), tmp_path / "h.csv"
    kinds = (
        b"symbol,qty,price\nAAPL,10,150.5\nBRK.B,3,\nCASH,2500,\n",
        b"Statement,Header,Field,Value\nOpen Positions,Header,DataDiscriminator,Currency,Symbol,Quantity,Close Price\n"
        b'Open Positions,Data,Summary,USD,AAPL,"1,000",150\nCash Report,Data,Ending Cash,Base Currency Summary,12.5,1\n',
        b"symbol;qty;price\nAAPL;10,5;1.234,5\nCASH;5,25;\n",
    )
    outcome = set()
    for _ in range(150):
        text = bytearray(kinds[rng.integers(3)])
        for _ in range(rng.integers(1, 5)):
            at, what = int(rng.integers(len(text))), rng.random()
            if what < 0.4:
                text[at:at] = text[int(rng.integers(len(text))) :][:20]
            elif what < 0.7:
                del text[at : at + int(rng.integers(1, 9))]
            else:
                text[at : at + 1] = bytes([rng.choice(list(b',;\n"\t\0\xff=-+@.0129e '))])
        file.write_bytes(bytes(text))
        try:
            outcome.add(type(Account.read(file)).__name__)
        except TrackerError as problem:
            outcome.add("refused in several lines" if "\n" in str(problem) else "refused")
    assert outcome == {"Account", "refused"}


def test_cash_is_said_once(tmp_path: Path) -> None:
    text = "symbol,qty\nAAPL,1\nCASH,5\n"
    assert read(tmp_path, text, cash=5.0).cash == 5.0
    with pytest.raises(ParameterError, match=r"its row CASH has 5\.00, but --cash is 6.00"):
        read(tmp_path, text, cash=6.0)


def test_an_account_of_nonsense_is_refused() -> None:
    for bad in (Account.of, lambda given: Account(given), lambda given: Account(0.0, given)):
        with pytest.raises(ParameterError):
            bad(3j)
    for shares in ({"A": -1.0}, {"A": float("nan")}, {"A": "x"}):
        with pytest.raises(ParameterError, match="shares of A"):
            Account(0.0, shares)


# -- names ----------


def test_names_are_found_however_they_are_spelt() -> None:
    spelling, data = Spelling(), ("AAPL", "BRK-B", "BF-B")
    for there in ("BRK.B", "BRK B", "BRK-B", "BRK/B"):
        assert spelling.known(there, data) == "BRK-B"
    for broker, spelt in (("alpaca", "BRK.B"), ("ibkr", "BRK B"), ("yahoo", "BRK-B"), ("generic", "BRK-B")):
        assert spelling.at(broker, "BRK-B") == spelt
        assert spelling.known(spelling.at(broker, "BRK-B"), data) == "BRK-B"
    assert spelling.known("BRKB", data) is None
    assert spelling.at("ibkr", "AAPL") == "AAPL"
    assert spelling.at("ibkr", "RDSA.AS") == "RDSA AS"  # a rule can be wrong: then the table says so
    assert Spelling({"ibkr": {"RDSA.AS": "RDSA"}}).at("ibkr", "RDSA.AS") == "RDSA"


def test_the_table_of_spellings_can_be_extended(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("symbol,alpaca,ibkr\nGOOG_C,GOOG,GOOG\nBRK-B,,BRKB\n")
    spelling = Spelling.read(tmp_path / "names.csv")
    assert spelling.at("alpaca", "GOOG_C") == "GOOG"
    assert spelling.at("alpaca", "BRK-B") == "BRK.B"  # empty: by the rule
    assert spelling.at("ibkr", "BRK-B") == "BRKB"
    assert spelling.known("BRKB", ("BRK-B",)) == "BRK-B"
    assert Account(1.0, {"GOOG": 2}).sizes(("GOOG_C",), spelling).tolist() == [2.0]
    (tmp_path / "names.csv").write_text("name,alpaca\nA,B\n")
    with pytest.raises(DataError, match="its columns are name, alpaca"):
        Spelling.read(tmp_path / "names.csv")
    with pytest.raises(ParameterError, match="two names of the data are both spelt 'X' at ibkr"):
        Spelling({"ibkr": {"A": "X", "B": "X"}})


def test_what_is_not_in_the_data_is_refused_kept_or_sold() -> None:
    account = Account(10.0, {"AAPL": 1, "TSLA": 2, "VODD": 3}, {"TSLA": 100.0, "VODD": 7.0})
    with pytest.raises(AccountError, match=r"TSLA is held but not in the data.*2 names, TSLA, VODD.*--outside keep"):
        account.within(("AAPL", "VOD"))
    with pytest.raises(AccountError, match="did you mean VOD"):
        Account(0.0, {"VODD": 1}).sizes(("AAPL", "VOD"))
    inside, rest = account.within(("AAPL", "VOD"), "keep")
    assert (inside.cash, inside.shares, rest.shares) == (10.0, {"AAPL": 1.0}, {"TSLA": 2.0, "VODD": 3.0})
    inside, rest = account.within(("AAPL", "VOD"), "sell")
    assert inside.cash == 10.0 + 200.0 + 21.0
    with pytest.raises(AccountError, match="TSLA is to be sold, but has no price"):
        Account(10.0, {"TSLA": 2}).within(("AAPL",), "sell")
    with pytest.raises(ParameterError, match="outside='drop' is unknown; choose one of refuse, keep, sell"):
        account.within(("AAPL",), "drop")
    with pytest.raises(AccountError, match="are both BRK-B in the data"):
        Account(0.0, {"BRK.B": 1, "BRK B": 2}).sizes(("BRK-B",))
