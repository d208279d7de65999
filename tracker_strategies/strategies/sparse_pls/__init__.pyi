from .trackers import SparsePLSTracker as SparsePLSTracker
