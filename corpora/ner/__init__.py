"""NER sets: files of many formats, their conversion, cards, gazetteers."""
