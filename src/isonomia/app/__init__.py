"""A local page for people who do not program: a table by group, a requirement in plain words, a verdict to download.

``isonomia open`` serves it on the loopback interface. :mod:`~isonomia.app.choices` says what may be chosen and writes
the audit file; :mod:`~isonomia.app.server` has the pages.
"""
