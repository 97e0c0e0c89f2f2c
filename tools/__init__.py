"""Programs that build what a release has besides the code: the site, and the manual pages."""
