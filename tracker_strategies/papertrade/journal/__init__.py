"""The account's journal: schema, ledger, history, lock."""
