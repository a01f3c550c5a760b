"""Entity-Fix: the rule of the NEISS paper (section 4.3; C.7) that makes tags valid IOB2.

Shapes: S sentences, N words of the longest.
"""

import numpy as np

from modeling.data.tagset import OUTSIDE, Codes


def entity_fix(tags: Codes) -> Codes:
    """(S, N) -> (S, N): an I- that goes on with nothing takes the label before it, O if none.

    From left to right, each I- after a repaired tag of its own label stays; after O it becomes O,
    after another label the I- of that; as first word it becomes the B- of its own. So a run of I-
    follows the tag before the run, whatever its labels. Valid tags stay as they are.

    Scores may rise or fall by it, lenient ones (B-N9: O, I-X, I-X) and strict ones: of B-Z, I-X the
    strict span is the first word, and afterwards both.
    """
    is_inside = (tags != OUTSIDE) & (tags % 2 == 0)
    fixed = tags - (is_inside & (np.arange(tags.shape[1]) == 0))  # B- is the tag before I-
    is_inside[:, :1] = False
    leaders = np.where(is_inside, 0, np.arange(tags.shape[1]))
    leaders = np.maximum.accumulate(leaders, axis=1)  # where the tag before the run stands
    led_by = np.take_along_axis(fixed, leaders, axis=1)  # O or a B-
    going_on = np.where(led_by == OUTSIDE, OUTSIDE, led_by + 1)
    return np.where(is_inside, going_on, fixed)
