import numpy as np
def choose(target, held, limits, metric, *, can_buy, must_keep, turnover=np.inf):
    K = limits.max_names or len(target)
    s = must_keep.copy()
    score = np.where(can_buy, target + 1e-3*(held>0), -1)
    for i in np.argsort(-score, kind="stable")[:max(K-int(s.sum()),0)]:
        if score[i]>=0: s[i]=True
    return s
