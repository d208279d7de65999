"""The APAS paper."""
