from .exporting import export as export
from .report import report_of as report_of
from .report import write_report as write_report
from .status import AccountStatus as AccountStatus
from .status import status_of as status_of
