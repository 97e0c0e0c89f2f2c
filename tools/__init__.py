"""Programs that build what a release has besides the code: the site of the pages."""
