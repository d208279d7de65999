"""Tables of the journal."""

from __future__ import annotations

from enum import StrEnum

from tracker_strategies.papertrade.journal.seals import Form

#: Marks an SQLite file as a journal of this program ("TRKP").
APPLICATION_ID = 0x54524B50

#: 2: every row is sealed (see :mod:`~tracker_strategies.papertrade.journal.seals`), not only bars, balances and checkpoints.
VERSION = 2


class Kind(StrEnum):
    """What was decided at the close of a session, as the table of decisions has it."""

    ACT = "act"  #: a rebalance
    IDLE = "idle"  #: nothing was due
    REFUSED = "refused"  #: a limit forbade the rebalance; it may be decided anew
    MISSED = "missed"  #: no step ran while the session was the newest
    FLATTEN = "flatten"  #: everything sold, by hand


#: States of an order that may still change, for a condition.
OPEN = "('intent', 'open', 'partial')"

TABLES = """
create table meta (
    key text primary key,
    value text not null
) strict;

-- Bars as they were seen, never changed afterwards: prices are (fields, N) and levels (q,) little-endian doubles.
create table bars (
    session text primary key,
    seen_at text not null,
    prices blob not null,
    levels blob not null
) strict;

-- Corporate actions. From `session` on, one share stands for `factor` of the units in which the strategy thinks.
create table actions (
    id integer primary key,
    session text not null,
    symbol text not null,
    kind text not null check (kind in ('split', 'dividend', 'rename', 'delist')),
    value real,
    text text not null default '',
    factor real not null default 1.0,
    origin text not null,
    unique (session, symbol, kind)
) strict;

-- What was decided at the close of a session. `kind`: see Kind.
create table decisions (
    session text primary key,
    made_at text not null,
    kind text not null,
    reason text not null default '',
    weights blob,
    state_hash text not null default '',
    way text not null default ''
) strict;

-- Orders from intent to end. Sizes are signed: `wanted` is what was decided, `size` what was sent; `price` the close then.
-- `due`: open (of the next session), close (of this one), settle (booked out at `price`, there is no market left).
create table orders (
    cid text primary key,
    session text not null,
    seq integer not null,
    symbol text not null,
    size real not null,
    wanted real not null,
    price real not null,
    due text not null,
    status text not null,
    reason text not null default '',
    broker_id text not null default '',
    filled real not null default 0,
    average real not null default 0,
    fee real not null default 0
) strict;
create index orders_by_session on orders (session, seq);
create index orders_by_status on orders (status);

-- Increments of the brokers' cumulative reports. `session` is set when the bar of the session is in.
create table fills (
    id integer primary key,
    cid text not null references orders (cid),
    session text,
    seen_at text not null,
    size real not null,
    price real not null,
    fee real not null
) strict;
create index fills_by_session on fills (session);

-- Every change of cash that is no fill: deposits, dividends, settlements, adjustments.
create table cash (
    id integer primary key,
    session text,
    kind text not null,
    symbol text not null default '',
    amount real not null,
    ref text unique not null
) strict;

-- One line per name, held or not: what it is called at the broker now, shares held, latest close as seen.
create table positions (
    symbol text primary key,
    ticker text not null,
    size real not null default 0,
    last real
) strict;

-- The account at the close of a session, fills booked. `owed`: the rebalance before was not carried out.
create table balances (
    session text primary key references bars (session),
    cash real not null,
    value real not null,
    sizes blob not null,
    owed integer not null
) strict;

create table events (
    id integer primary key,
    at text not null,
    session text,
    kind text not null,
    text text not null
) strict;
create index events_by_kind on events (kind);

-- The strategy's state after a decision, so that the next step need not replay everything.
create table checkpoints (
    session text primary key,
    code text not null,
    verified text not null,
    state text not null
) strict;
"""

#: What a journal is. Tables that grow with the sessions are sealed session by session, events day by day.
FORM = Form(
    "journal of a paper account",
    APPLICATION_ID,
    VERSION,
    TABLES,
    {
        "bars": "session",
        "actions": "session",
        "decisions": "session",
        "orders": "session",
        "fills": "session",
        "cash": "session",
        "balances": "session",
        "events": "at",
        "checkpoints": "session",
    },
)
