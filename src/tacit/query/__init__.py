"""Price a plan without data; run a paid quote to a release."""
