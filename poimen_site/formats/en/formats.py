"""Dates as ISO 8601 writes them, in UTC; what people type is read the same way."""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i:s"
TIME_FORMAT = "H:i:s"
FIRST_DAY_OF_WEEK = 1
