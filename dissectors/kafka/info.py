from dissectors.api import Body, Context
def info_line(body: Body, context: Context) -> str:
    return ""
