"""The public test kit: scripted entropy, neighbours, exact laws, tests that reject the lie."""
