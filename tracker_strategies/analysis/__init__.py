"""What a run was worth: metrics, analyzers, records, run folders and tear sheets."""
