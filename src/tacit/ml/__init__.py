"""scikit-learn estimators and regression under the same ledger."""
