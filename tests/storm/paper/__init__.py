"""What ``tests.storm.accounts`` is made of: plans, accounts on every clock, and judges."""
