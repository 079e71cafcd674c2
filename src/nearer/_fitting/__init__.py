"""What estimators of comparisons share. Nothing here is public."""
