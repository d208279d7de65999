"""Some prices in the shapes in which people have them: a folder of files, made in one go, and the same in memory."""

import zipfile

import numpy as np
import pandas as pd

TICKERS = ["^GSPC", "AAPL", "LOW", "BRK-B"]


def closes(rows=60):
    """Closes with few digits, so that every way of writing them says the same; days above and below twelve."""
    rng = np.random.default_rng(5)
    steps = np.exp(np.cumsum(0.01 * rng.standard_normal((rows, len(TICKERS))), axis=0))
    prices = np.round(steps * [3200.0, 75.0, 110.0, 220.0], 2)
    return pd.DataFrame(prices, index=pd.bdate_range("2020-01-02", periods=rows, name="Date"), columns=TICKERS)


def bars(adjusted=False):
    """The same with opens, highs, lows and volumes, as yfinance downloads them: fields above tickers."""
    close = closes()
    parts = {"Close": close, "High": close + 1.0, "Low": close - 1.0, "Open": close - 0.25, "Volume": close * 0 + 1000.0}
    if adjusted:
        parts = {"Adj Close": (close * 0.5).round(6), **parts}
    return pd.concat(parts, axis=1, names=["Price", "Ticker"])


def long_of(frame, date="Date", name="Ticker", price="Close"):
    table = frame.rename_axis(columns=name).stack().rename(price).reset_index()
    return table.rename(columns={"Date": date})


def german(frame, dates="%d.%m.%Y", thousands=True):
    def number(x):
        text = f"{x:,.2f}" if thousands else f"{x:.2f}"
        return text.translate(str.maketrans(",.", ".,"))

    rows = [";".join([day.strftime(dates), *map(number, row)]) for day, row in zip(frame.index, frame.to_numpy(), strict=True)]
    return "\n".join([";".join(["Datum", *frame.columns]), *rows]) + "\n"


def zoned(frame, zone, hour=0):
    return frame.set_axis((frame.index + pd.Timedelta(hours=hour)).tz_localize(zone), axis=0).rename_axis("Date")


def excel(path, frame, sheet="Prices", others=(), **how):
    with pd.ExcelWriter(path, engine="xlsxwriter", datetime_format="dd.mm.yyyy") as book:
        frame.to_excel(book, sheet_name=sheet, **how)
        for name in others:
            pd.DataFrame({"note": ["x"]}).to_excel(book, sheet_name=name)


def paired(frame, tickers="above dates", fields="PX_LAST", spacer=True, dates="%Y-%m-%d", after=()):
    """The paste of Bloomberg's BDH: dates and prices of each security side by side, as many rows as each of them has."""
    columns = []
    for name in frame:
        prices = frame[name].dropna()
        above = {"above dates": [name, ""], "above prices": ["", name], "labels": ["Security", name]}.get(tickers)
        head = [] if above is None else [above]
        head += [] if fields is None else [["Dates", name if above is None else fields]]
        rows = [[day.strftime(dates) if dates else day, price] for day, price in prices.items()]
        columns.append([*head, *rows, *after])
        columns += [[]] if spacer else []
    height = max(map(len, columns))
    table = [[cell for column in columns for cell in (column[i] if i < len(column) else ["", ""] if column else [""])]
             for i in range(height)]  # fmt: skip
    return table


def lines(table, separator=","):
    return "\n".join(separator.join(str(cell) for cell in row) for row in table) + "\n"


def as_zip(path, inner, name="prices.csv"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(inner, name)


def make_closes(folder):
    """Files that all hold the same closes: name to the options that they need."""
    wide, made = closes(), {}

    def put(name, options=None, text=None):
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8", newline="")
        made[name] = options or {}

    wide.to_csv(folder / "wide.csv")
    put("wide.csv")
    wide.to_parquet(folder / "wide.parquet")
    put("wide.parquet")
    wide.reset_index().to_parquet(folder / "column.parquet")
    put("column.parquet")
    wide.to_csv(folder / "wide.csv.gz")
    put("wide.csv.gz")
    put("crlf.csv", text=wide.to_csv(lineterminator="\r\n"))
    put("bom.csv", text="\ufeff" + wide.to_csv())
    put("semicolons.csv", text=wide.to_csv(sep=";"))
    put("tabs.tsv", text=wide.to_csv(sep="\t"))
    put("bars.csv", text=wide.to_csv(sep="|"))
    put("german.csv", text=german(wide))
    put("german_plain.csv", text=german(wide, thousands=False))
    put("decimal_tabs.txt", text=german(wide, "%Y-%m-%d", thousands=False).replace(";", "\t"))
    put("thousands.csv", text=wide.map(lambda x: f"{x:,.2f}").to_csv())
    put("day_first.csv", text=wide.to_csv(date_format="%d/%m/%Y"))
    put("month_first.csv", text=wide.to_csv(date_format="%m/%d/%Y"))
    put("dashes.csv", text=wide.to_csv(date_format="%d-%m-%Y"))
    put("named_months.csv", text=wide.to_csv(date_format="%d-%b-%Y"))
    put("american.csv", text=wide.to_csv(date_format="%b %d, %Y"))
    put("compact.csv", text=wide.to_csv(date_format="%Y%m%d"))
    put("short_years.csv", {"dates": "dmy"}, wide.to_csv(date_format="%d/%m/%y"))
    put("midnight.csv", text=wide.to_csv(date_format="%d.%m.%Y 00:00"))
    put("descending.csv", text=wide.iloc[::-1].to_csv())
    put("shuffled.csv", text=wide.sample(frac=1.0, random_state=3).to_csv())
    put("twice.csv", text=pd.concat([wide, wide.iloc[5:9]]).to_csv())
    put("preamble.csv", text="Prices of the desk\nas of 2020\n\n" + wide.to_csv())
    put("new_york.csv", text=zoned(wide, "America/New_York").to_csv())
    put("utc.csv", {"calendar": "XNYS"}, zoned(wide, "America/New_York", 16).tz_convert("UTC").to_csv())
    put("tokyo.csv", {"calendar": "XTKS"}, zoned(wide, "Asia/Tokyo").tz_convert("UTC").to_csv())
    zoned(wide, "America/New_York").to_parquet(folder / "zoned.parquet")
    put("zoned.parquet")
    excel(folder / "prices.xlsx", wide)
    put("prices.xlsx")
    excel(folder / "several.xlsx", wide, others=["Notes"])
    put("several.xlsx:Prices")
    excel(folder / "texts.xlsx", wide.set_axis(wide.index.strftime("%d/%m/%Y"), axis=0))
    put("texts.xlsx")
    as_zip(folder / "prices.zip", folder / "semicolons.csv")
    put("prices.zip")
    as_zip(folder / "book.zip", folder / "prices.xlsx", "prices.xlsx")
    put("book.zip")
    as_zip(folder / "parquet.zip", folder / "wide.parquet", "wide.parquet")
    put("parquet.zip")
    put("long.csv", text=long_of(wide).to_csv(index=False))
    long_of(wide).to_parquet(folder / "long.parquet")
    put("long.parquet")
    put("refinitiv.csv", text=long_of(wide, name="Instrument", price="Price Close").to_csv())
    put("stooq.txt", text=stooq(wide))
    bloomberg = wide.to_csv(header=False)
    names = ",".join(["", *wide.columns])
    fields = ",".join(["Dates", *["PX_LAST"] * wide.shape[1]])
    put("bloomberg.csv", text=f"Start Date,01/02/2020,,,\nEnd Date,,,,\n\n{names}\n{fields}\n{bloomberg}")
    put("paired.csv", text=lines(paired(wide)))
    put("paired_close.csv", text=lines(paired(wide, "above prices", "Close", spacer=False, dates="%d/%m/%Y")))
    put("paired_labels.csv", text=lines(paired(wide, "labels", "Last Price", dates="%m/%d/%Y", after=[["", ""]])))
    put("paired_no_fields.csv", text=lines(paired(wide, fields=None)))
    put("paired_one_row.csv", text=lines(paired(wide, None, spacer=False)))
    put("paired_preamble.csv", text="Start Date,01/02/2020,End Date,03/26/2020\n\n" + lines(paired(wide)))
    commas = wide.map(lambda x: f"{x:.2f}".replace(".", ","))
    put("paired_german.csv", text=lines(paired(commas, dates="%d.%m.%Y"), ";"))
    table = pd.DataFrame(paired(wide, dates=None))
    excel(folder / "paired.xlsx", table, header=False, index=False)
    put("paired.xlsx")
    only = pd.concat({"Close": wide}, axis=1, names=["Price", "Ticker"])
    put("yfinance_three_rows.csv", text=only.to_csv())
    put("yfinance_two_rows.csv", text=only.rename_axis(None).to_csv())
    put("yfinance_by_ticker.csv", text=only.swaplevel(axis=1).to_csv())
    only.to_parquet(folder / "tuples.parquet")
    put("tuples.parquet")
    flat = only.set_axis([str(pair) for pair in only.columns], axis=1)
    put("tuples.csv", text=flat.to_csv())
    excel(folder / "yfinance.xlsx", only)
    put("yfinance.xlsx")
    wide.drop(columns="^GSPC").to_csv(folder / "assets.csv")
    wide[["^GSPC"]].to_csv(folder / "index.csv")
    put("assets.csv", {"index": "index.csv"})
    wide[["^GSPC"]].rename(columns={"^GSPC": "Close"}).assign(Open=1.0, High=1e6, Low=0.5).to_csv(folder / "gspc.csv")
    made["assets.csv "] = {"index": "gspc.csv", "targets": "^GSPC"}
    made["assets.csv  "] = {"targets": "wide.csv:^GSPC"}
    tickers = folder / "tickers"
    tickers.mkdir()
    for name in sorted(wide.columns):
        wide[[name]].rename(columns={name: "close"}).to_csv(tickers / f"{name}.csv")
    return made


def stooq(frame):
    rows = [
        f"{name},D,{day:%Y%m%d},000000,{price:.2f}"
        for day, row in zip(frame.index, frame.to_numpy(), strict=True)
        for name, price in zip(frame.columns, row, strict=True)
    ]
    return "\n".join(["<TICKER>,<PER>,<DATE>,<TIME>,<CLOSE>", *rows]) + "\n"


def make_bars(folder):
    """Files that all hold the same bars."""
    fields = bars()
    (folder / "three_rows.csv").write_text(fields.to_csv())
    (folder / "two_rows.csv").write_text(fields.rename_axis(None).to_csv())
    (folder / "by_ticker.csv").write_text(
        fields.swaplevel(axis=1).sort_index(axis=1, level=0, sort_remaining=False)[TICKERS].to_csv()
    )
    fields.to_parquet(folder / "tuples.parquet")
    with_adjusted = bars(adjusted=True)
    (folder / "adjusted.csv").write_text(with_adjusted.to_csv())
    excel(folder / "bars.xlsx", fields)
    dividends = fields.assign()
    for name in TICKERS:
        dividends[("Dividends", name)] = 0.0
    (folder / "dividends.csv").write_text(dividends.to_csv())
    names = ["three_rows.csv", "two_rows.csv", "by_ticker.csv", "tuples.parquet", "adjusted.csv", "bars.xlsx", "dividends.csv"]
    table = fields.stack(future_stack=True).reset_index()
    table.to_csv(folder / "long.csv", index=False)
    renamed = {"Close": "Price Close", "Open": "Price Open", "High": "Price High", "Low": "Price Low", "Ticker": "Instrument"}
    table.rename(columns=renamed).to_csv(folder / "refinitiv.csv")
    table.sample(frac=1.0, random_state=1).sort_values("Ticker", key=lambda s: s.map(TICKERS.index), kind="stable").to_csv(
        folder / "shuffled.csv", index=False, sep=";"
    )
    return dict.fromkeys([*names, "long.csv", "refinitiv.csv", "shuffled.csv"], ())
