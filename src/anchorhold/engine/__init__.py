"""The use cases: the only place where rows and Stripe meet.

Engine code awaits store functions and the provider's verbs and nothing else; it has no clock, no
random and no asyncio, so that a simulator can drive it by hand.
"""
