"""What `howdah doctor` makes of the facts: pure rules, one per finding. The facts are read by `store/diagnosis.py`."""

from howdah.diagnosis.checks import CHECKS, Check
from howdah.diagnosis.finding import Finding, Severity, exit_status
from howdah.diagnosis.limits import Limits

__all__ = ["CHECKS", "Check", "Finding", "Limits", "Severity", "exit_status"]
