from .page import best_table as best_table
from .page import section as section
from .report import write_report as write_report
