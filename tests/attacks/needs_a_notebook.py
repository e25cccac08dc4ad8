# Calls what a notebook alone has.
# fails: q1 q2 q3 q4
# says: get_ipython
# ruff: noqa

get_ipython().run_line_magic("matplotlib", "inline")
