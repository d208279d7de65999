"""What ``tests.storm.sweeps`` is made of: cells that behave badly, a driver that is disturbed, and a judge."""
