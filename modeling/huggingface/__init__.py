"""Import from and export to folders of transformers: BERT, LUKE, and models like them.

All code that knows other libraries' names of settings, files and weights is in this package.
"""
