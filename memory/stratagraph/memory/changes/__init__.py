"""Changes as callers follow them: `service` opens streams and pages, `following` reads the log once for all streams of
a process, `resolving` turns entries of the log into changes that a caller may see, and `filters` leaves some out.
"""
