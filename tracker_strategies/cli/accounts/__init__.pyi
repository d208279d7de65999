from .asking import app as app
