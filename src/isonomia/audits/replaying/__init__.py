"""Replaying the evidence of a run: its arithmetic, its counterexamples, or all of it.

What comes from an evidence file is not believed: nothing of it is run, unpickled or looked up on disk, unless somebody
asks for that and allows it.
"""
