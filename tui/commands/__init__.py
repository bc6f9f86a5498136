"""The commands behind keys, menus and the palette: functions that get the main screen, a module for each subject.

Theory. A command is a row in tui.keys that names a function here, such as `navigation.go_to_partner`. Its module is
imported when the command is first used, so that unused commands cost no start. A command acts through the parts of the
screen: the selection, `show_message`, `view.select_row`, `filter.apply`, `background.submit`.
"""
