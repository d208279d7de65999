from .cleaner import clean as clean
from .report import CleaningReport as CleaningReport
from .report import Finding as Finding
