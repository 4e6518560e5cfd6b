"""Turn the results of a run into an HTML report, figures, tables and a summary for the terminal.

``page.render`` and ``figures.write`` draw with Altair, which takes a second to import:
whoever needs the data or the table alone imports ``data`` or ``terminal``.
"""
