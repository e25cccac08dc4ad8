# Error message with HTML, a spreadsheet formula and Markdown.
# fails: q1
# says: ValueError
# ruff: noqa


def fedavg(states, weights):
    raise ValueError(
        '<script>alert(1)</script> =HYPERLINK("http://127.0.0.1/","click") ![x](http://127.0.0.1/x.png)'
    )
