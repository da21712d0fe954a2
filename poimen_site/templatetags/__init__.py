"""What templates of the pages can say beyond Django's own."""
