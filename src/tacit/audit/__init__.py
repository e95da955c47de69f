"""Does our code keep its word: record and replay on neighbours, lower bounds on the loss."""
