from tests.papertrade.harness import folder

__all__ = ["folder"]
