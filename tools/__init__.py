"""Programs for make: they build the site and the manual pages, and show that a long step goes on."""
