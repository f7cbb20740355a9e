"""Principal fairness: is anyone treated differently whose outcome the attribute does not affect, and the repair."""
