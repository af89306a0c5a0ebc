"""Trust: whether something that costs a little and is sometimes for nothing has been worth while lately."""

TRUST_MAX = 8
TRIED_AGAIN_AFTER = 64


class Trust:
    """Grows when it was worth while, and shrinks by twice as much when it was not. At nothing, it is tried only now and
    then."""

    def __init__(self) -> None:
        self._trust = TRUST_MAX
        self._left_out = 0

    def is_worth_trying(self) -> bool:
        """To be asked each time."""
        if not self._trust:
            self._left_out += 1
            if self._left_out < TRIED_AGAIN_AFTER:
                return False
        self._left_out = 0
        return True

    def grow(self) -> None:
        self._trust = min(self._trust + 1, TRUST_MAX)

    def shrink(self) -> None:
        self._trust = max(self._trust - 2, 0)
