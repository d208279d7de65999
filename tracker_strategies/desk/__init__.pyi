from .orders import orders_for as orders_for
from .plan import OrderPlan as OrderPlan
from .sessions import check_session as check_session
