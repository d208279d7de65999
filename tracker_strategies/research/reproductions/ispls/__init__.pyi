from .paper import reproduce_ispls as reproduce_ispls
