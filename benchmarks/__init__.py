"""Each speed or memory figure that the project claims, as a command that measures it: ``python -m benchmarks [NAME ...]``.

Machines differ and are noisy, so every figure is a ratio of two things measured side by side in one run, with the repeats
interleaved.
"""
