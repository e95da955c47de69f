"""The question as a frozen tree: nodes, schema, bounds and sensitivity; no SQL, no engine."""
