"""TABLE: what two writes leave behind, when the second one waited for the first to commit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What the second answered, and how the invoice and its attempt stand then."""

    stage: str
    first: str
    second: str
    answer: str
    status: str
    payment_status: str
    hold: str
    attempt: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.first}, then {self.second}"

    @property
    def left(self) -> tuple[str, str, str, str]:
        """How invoice and attempt stand."""
        return self.status, self.payment_status, self.hold, self.attempt


# `-`: it lost. A payment that is news leaves the hold to its owner or the sweep (protocol 8).
TABLE = """
due               claim               claim               -      open  pending    held  claimed
due               claim               claim_due           -      open  pending    held  claimed
due               claim_due           claim               -      open  pending    held  claimed
due               claim_due           claim_due           -      open  pending    held  claimed
due               claim               page pays           paid   paid  succeeded  held  claimed
due               page pays           claim               -      paid  succeeded  free  none
due               page pays           claim_due           -      paid  succeeded  free  none
due               claim               page pays less      short  open  failed     held  claimed
due               page pays less      claim               -      open  failed     free  none
due               account refused     claim               ok     open  pending    held  claimed
due               page pays           page pays           known  paid  succeeded  free  none
due               page pays           page pays less      known  paid  succeeded  free  none
due               claim               claim to close      -      open  pending    held  claimed
due               claim to close      claim               -      open  pending    held  claimed
due               claim to close      claim_due           -      open  pending    held  claimed
due               claim to close      claim to close      -      open  pending    held  claimed
due               claim to close      page opened         -      open  pending    held  claimed
due               page opened         claim to close      ok     open  pending    held  claimed
due               page opened         claim               ok     open  pending    held  claimed
due               claim               page opened         -      open  pending    held  claimed
due               page pays           claim to close      -      paid  succeeded  free  none
closing           closed              closed              -      void  pending    free  not_sent
closing           closed              amended             -      void  pending    free  not_sent
closing           amended             closed              -      open  pending    free  not_sent
closing           closed              page pays           voided  void  failed    free  not_sent
closing           page pays           closed              -      paid  succeeded  held  claimed
closing           page pays           amended             -      paid  succeeded  held  claimed
closing           page pays less      closed              -      open  failed     held  claimed
closing           owner gone          closed              -      open  pending    free  not_sent
closing           closed              owner gone          -      void  pending    free  not_sent
closing           let go              closed              -      open  pending    free  not_sent
closing           closed              claim               -      void  pending    free  not_sent
closing           let go              claim               -      open  pending    free  not_sent
closing           closed              page opened         -      void  pending    free  not_sent
stale             written off  written off  -  uncollectible  pending  held  sending
stale             written off  sweep supersedes  -  uncollectible  pending  held  sending
stale             sweep supersedes    written off         -      open  pending    free  superseded
stale             written off         sweep settles       paid   paid  succeeded  free  superseded
stale             written off  owner declines  -  uncollectible  pending  held  sending
followed          written off         page pays           paid   paid  succeeded  free  succeeded
without a method  method set          customer refused    -      open  pending    free  none
without a method  customer refused    method set          ok     open  failed     free  none
without a method  customer refused    claim               -      open  failed     free  none
without a method  method set          claim               -      open  pending    free  none
without a method  customer refused    page pays           paid   paid  succeeded  free  none
preparing         named               named               -      open  pending    free  none
preparing         named               used up             -      open  pending    free  none
preparing         used up             named               -      open  pending    free  none
preparing         named               refused             -      open  pending    free  none
preparing         refused             named               -      open  failed     free  none
preparing         refused             refused             -      open  failed     free  none
preparing         used up             refused             ok     open  failed     free  none
preparing         refused             used up             -      open  failed     free  none
preparing         named               claim               -      open  pending    free  none
preparing         named               claim_due           -      open  pending    free  none
preparing         claim               named               ok     open  pending    free  none
preparing         named               begun again         ok     open  pending    free  none
preparing         used up             begun again         ok     open  pending    free  none
preparing         refused             claim               -      open  failed     free  none
claimed           re-check            re-check            -      open  pending    held  sending
claimed           released            re-check            -      open  pending    free  not_sent
claimed           re-check            page pays           paid   paid  succeeded  held  superseded
claimed           page pays           re-check            -      paid  succeeded  held  superseded
claimed           page pays less      re-check            -      open  failed     held  superseded
claimed           page pays           released            -      paid  succeeded  held  superseded
claimed           page pays less      released            -      open  failed     held  superseded
claimed           re-check            account refused     ok     open  pending    held  sending
sending           owner settles       page pays           known  paid  succeeded  free  succeeded
sending           page pays           owner settles       known  paid  succeeded  free  succeeded
sending           owner declines      page pays           paid   paid  succeeded  free  failed
sending           page pays           owner declines      -      paid  succeeded  held  superseded
sending           owner follows       page pays           paid   paid  succeeded  free  succeeded
sending           page pays           owner follows       -      paid  succeeded  held  superseded
sending           owner unclear       page pays           paid   paid  succeeded  held  superseded
sending           page pays           owner unclear       -      paid  succeeded  held  superseded
sending           page pays less      owner settles       known  open  failed     free  succeeded
stale             owner settles       sweep settles       known  paid  succeeded  free  succeeded
stale             sweep settles       owner settles       known  paid  succeeded  free  succeeded
stale             owner declines      sweep declines      -      open  failed     free  failed
stale             sweep declines      owner declines      -      open  failed     free  failed
stale             owner declines      sweep supersedes    -      open  failed     free  failed
stale             sweep supersedes    owner declines      -      open  pending    free  superseded
stale             owner settles       sweep supersedes    -      paid  succeeded  free  succeeded
stale             sweep supersedes    owner settles       paid   paid  succeeded  free  succeeded
stale             owner unclear       sweep supersedes    -      open  unknown    held  unknown
stale             owner unclear       sweep declines      -      open  unknown    held  unknown
stale             sweep supersedes    owner unclear       -      open  pending    free  superseded
stale             owner settles       sweep keeps         -      paid  succeeded  free  succeeded
stale             sweep keeps         owner settles       paid   paid  succeeded  free  succeeded
stale             sweep keeps         owner declines      ok     open  failed     free  failed
stale             owner declines      sweep keeps         -      open  failed     free  failed
stale             sweep keeps         sweep supersedes    ok     open  pending    free  superseded
stale             sweep supersedes    sweep keeps         -      open  pending    free  superseded
stale             owner unclear       sweep keeps         ok     open  unknown    held  unknown
stale             sweep supersedes    sweep supersedes    -      open  pending    free  superseded
stale             sweep follows       owner settles       paid   paid  succeeded  free  succeeded
stale             sweep follows       sweep settles       paid   paid  succeeded  free  succeeded
stale             owner settles       sweep follows       -      paid  succeeded  free  succeeded
stale             sweep supersedes    re-check            -      open  pending    free  superseded
stale             sweep supersedes    claim               -      open  pending    free  superseded
stale             page pays           sweep supersedes    -      paid  succeeded  held  superseded
stale             page pays           sweep settles       known  paid  succeeded  free  superseded
followed          following declined  page pays           paid   paid  succeeded  free  failed
followed          page pays           following declined  -      paid  succeeded  free  succeeded
followed          following declined  following canceled  -      open  failed     free  failed
followed          taken               page pays           paid   paid  succeeded  free  succeeded
followed          following declined  claim               -      open  failed     free  failed
"""


def _outcome(line: str) -> Outcome:
    words = [word.strip() for word in line.split("  ") if word.strip()]
    return Outcome(*words)


OUTCOMES = [_outcome(line) for line in TABLE.strip().splitlines()]
