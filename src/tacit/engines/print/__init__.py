"""SQL statements for bounded plans. They are printed from the plan, never from user text."""
