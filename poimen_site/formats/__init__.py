"""How Django writes and reads dates, by language; its own are those of one country."""
