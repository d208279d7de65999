"""The paper on incremental sparse PLS."""
