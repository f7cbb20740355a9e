"""Replaying the evidence of a run: its arithmetic, its counterexamples, or all of it.

An evidence file is not trusted: nothing in it is run, unpickled or looked up on disk, unless the user asks for that and
allows it.
"""
