"""Learners that stay as they are while they track within a tolerance, and correct at once when not; SLAIT, their batch rival."""
