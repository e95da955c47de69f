"""Events to losses: what was done becomes what it cost; knows no mechanism."""
