"""What keys, menus and the palette do, one file for each subject; each command is a function of the main screen.

Theory. A command is a row in tui.keys that names a function here, `do('partner.go')`; its module is imported when the
command is first used, so that what nobody uses costs no start. A command changes the screen through the parts of it:
what is selected, `say`, `view.select_row`, `filter.apply`, `background.ask`.
"""
