def relax(region, *, must=None):
    import numpy as np, pickle
    from scipy.optimize import linprog
    n=len(region.held)
    # vars w, b, s with w - h = b - s
    c=np.r_[np.zeros(n),np.ones(2*n)]
    A=[np.r_[np.ones(n),np.zeros(2*n)]]; bq=[region.total]
    A+=list(np.hstack([np.eye(n),-np.eye(n),np.eye(n)])); bq+=list(region.held)
    Au=[];bu=[]
    for m,l,u in zip(region.members,region.group_lower,region.group_upper):
        r=np.zeros(3*n); r[m]=1; Au+= [r,-r]; bu+=[u,-l]
    res=linprog(c,A_ub=np.array(Au) if Au else None,b_ub=bu or None,A_eq=np.array(A),b_eq=bq,bounds=list(zip(region.lower,region.upper))+[(0,None)]*(2*n))
    print("infeasible; LP:",res.status,res.fun,"turnover",region.turnover,"sums",region.lower.sum(),region.upper.sum(),region.total)
    pickle.dump(region,open("/tmp/region.pkl","wb"))
    raise AssertionError("infeasible")
