"""The provider: Stripe behind one small Protocol. The only room that imports the SDK."""
