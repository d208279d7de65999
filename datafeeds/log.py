"""The project's log: ``logging.getLogger("tracker")``. Silent until a program gives it a handler."""

import logging

log = logging.getLogger("tracker")
log.addHandler(logging.NullHandler())
