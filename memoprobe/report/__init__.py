"""Turn the results of a run into an HTML report, figures and a table for the terminal.

``page.render`` and ``figures.write`` draw with Altair, which takes a second to import:
whoever needs the data or the table alone imports ``data`` or ``summary``.
"""
