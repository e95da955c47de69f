"""The curator over HTTP: app, authentication, routes and pages."""
