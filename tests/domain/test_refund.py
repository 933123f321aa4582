"""What a payment says of itself after money was given back or disputed."""

import pytest

from anchorhold.domain.disputes import Dispute
from anchorhold.domain.refund import Standing, standing


@pytest.mark.parametrize(
    ("refunded", "dispute", "word"),
    [
        (0, None, Standing.SUCCEEDED),
        (1, None, Standing.PARTLY_REFUNDED),
        (999, None, Standing.PARTLY_REFUNDED),
        (1000, None, Standing.REFUNDED),
        (1000, Dispute.LOST, Standing.CHARGED_BACK),
        (0, Dispute.OPEN, Standing.DISPUTED),
        (0, Dispute.INQUIRY, Standing.DISPUTED),
        (0, Dispute.WON, Standing.SUCCEEDED),
        (1000, Dispute.CLOSED, Standing.REFUNDED),
    ],
)
def test_a_dispute_says_more_than_a_refund(
    refunded: int, dispute: Dispute | None, word: Standing
) -> None:
    assert standing(1000, refunded, dispute) is word
