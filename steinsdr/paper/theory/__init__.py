"""The paper's lemmas and theorems as computations, a module each.

Lemmas are counted in the order in which the paper prints them. Functions return measured
quantities next to what the paper promises, as data frames or small dataclasses.
"""
