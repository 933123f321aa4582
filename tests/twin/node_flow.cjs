// Drives the twin with the official library and believes its webhooks; argv: the folder of
// node_modules, host, port, key.
const [modules, host, port, key] = process.argv.slice(2);
const Stripe = require(require("path").join(modules, "stripe"));
const assert = require("assert");
const make = Stripe.default || Stripe;
const stripe = new make(key, { host, port: Number(port), protocol: "http", maxNetworkRetries: 0 });

// The next webhook that arrives, verified as Stripe's documentation says to.
function listen(server, secretOf) {
  return new Promise((resolve, reject) => {
    server.once("request", (request, answer) => {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => {
        answer.end();
        const body = Buffer.concat(parts);
        const header = request.headers["stripe-signature"];
        try {
          assert.throws(
            () => stripe.webhooks.constructEvent(Buffer.concat([body, Buffer.from(" ")]), header, secretOf()),
            (error) => error.type === "StripeSignatureVerificationError",
          );
          assert.throws(
            () => stripe.webhooks.constructEvent(body, header, "whsec_another"),
            (error) => error.type === "StripeSignatureVerificationError",
          );
          resolve(stripe.webhooks.constructEvent(body, header, secretOf()));
        } catch (error) { reject(error); }
      });
    });
  });
}

async function hear() {
  const server = require("http").createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  let secret;
  const heard = listen(server, () => secret);
  const endpoint = await stripe.webhookEndpoints.create({
    url: `http://127.0.0.1:${server.address().port}/hook`, enabled_events: ["payment_intent.created"],
  });
  secret = endpoint.secret;
  const made = await stripe.paymentIntents.create({ amount: 500, currency: "eur" });
  const event = await heard;
  assert.equal(event.type, "payment_intent.created");
  assert.equal(event.data.object.id, made.id);
  assert.equal((await stripe.webhookEndpoints.retrieve(endpoint.id)).secret, undefined);
  assert.equal((await stripe.webhookEndpoints.del(endpoint.id)).deleted, true);
  server.close();
  server.closeAllConnections();
}

async function main() {
  const customer = await stripe.customers.create({ email: "ada@example.com", metadata: { a: "b" } });
  const method = await stripe.paymentMethods.attach("pm_card_visa", { customer: customer.id });
  const fields = {
    amount: 1000, currency: "usd", customer: customer.id, payment_method: method.id,
    confirm: true, off_session: true, metadata: { order: "7" }, expand: ["latest_charge"],
  };
  const paid = await stripe.paymentIntents.create(fields, { idempotencyKey: "node-1" });
  assert.equal(paid.status, "succeeded");
  assert.equal(paid.latest_charge.amount_captured, 1000);
  const again = await stripe.paymentIntents.create(fields, { idempotencyKey: "node-1" });
  assert.equal(again.id, paid.id);
  assert.equal(again.lastResponse.headers["idempotent-replayed"], "true");

  const open = await stripe.paymentIntents.create({
    amount: 500, currency: "eur", allowed_payment_method_types: ["card", "us_bank_account"],
  });
  assert.deepEqual(open.payment_method_types, ["card"]);
  await assert.rejects(
    stripe.paymentIntents.update(open.id, { payment_method_types: ["card"] }),
    (error) => error.code === "payment_method_types_no_longer_supported",
  );
  await assert.rejects(
    stripe.paymentIntents.confirm(open.id, { payment_method: "pm_card_chargeDeclined", off_session: true }),
    (error) => error.type === "StripeCardError" && error.statusCode === 402
      && error.decline_code === "generic_decline"
      && error.payment_intent.status === "requires_payment_method",
  );
  await assert.rejects(
    stripe.paymentIntents.cancel(paid.id),
    (error) => error.code === "payment_intent_unexpected_state"
      && error.payment_intent.status === "succeeded",
  );
  assert.equal((await stripe.paymentIntents.cancel(open.id)).status, "canceled");

  for (let made = 0; made < 11; made += 1) {
    await stripe.paymentIntents.create({ amount: 500, currency: "eur", customer: customer.id });
  }
  let seen = 0;
  for await (const intent of stripe.paymentIntents.list({ customer: customer.id, limit: 5 })) {
    assert.equal(intent.customer, customer.id);
    seen += 1;
  }
  assert.equal(seen, 12);

  const refund = await stripe.refunds.create({ payment_intent: paid.id, amount: 400 });
  assert.equal(refund.status, "succeeded");
  const events = await stripe.events.list({ types: ["refund.created", "charge.refunded"] });
  assert.deepEqual(events.data.map((event) => event.type), ["charge.refunded", "refund.created"]);
  assert.equal((await stripe.customers.del(customer.id)).deleted, true);
  await hear();
  console.log("node drove the whole flow");
}

main().catch((error) => { console.error(error); process.exit(1); });
