"""Tasks of issue trackers, brought in once each and kept in step. Importing ``activity`` registers the activity."""
