"""Version of the installed distribution."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "backtrader-index-tracker"

try:
    __version__ = version(DISTRIBUTION)
except PackageNotFoundError:  # a source tree that nobody installed
    __version__ = "unknown"
