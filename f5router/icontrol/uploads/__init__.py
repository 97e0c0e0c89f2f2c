"""Certificate and key files: brought to the BIG-IP over REST or SSH, and removed again."""
