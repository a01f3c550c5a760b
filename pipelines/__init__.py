"""Pipelines over much text: options, plans and graphs. Beam is loaded where a graph is made."""

from corpora.system.interrupts import end_quietly_while_loading

end_quietly_while_loading()
