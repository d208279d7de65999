def check(*a, **k): pass
