"""Dunning policies, runs and steps, as JSON has them."""

from anchorhold.objects import Object, columns, display
from anchorhold.store.dunning_policies import PolicyView
from anchorhold.store.views_dunning import RunView, StepView


def dunning_policy(view: PolicyView) -> Object:
    """A dunning policy; `at` is a time of day in `zone`."""
    at = f"{view.at:%H:%M}" if view.at else None
    return {"object": "dunning_policy", **columns(view), "at": at}


def dunning_run(view: RunView) -> Object:
    """A dunning run."""
    shown = display(view.currency, amount_remaining=view.amount_remaining)
    return {"object": "dunning_run", **columns(view), "display": shown}


def dunning_step(view: StepView) -> Object:
    """A step of a dunning run."""
    return {"object": "dunning_step", **columns(view)}
