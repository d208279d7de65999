"""Learners that follow gradients: AdaGrad and what it is compared with."""
