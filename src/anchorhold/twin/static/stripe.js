// A stand-in for Stripe.js: the few calls that a page with a Payment Element makes, each as strict
// as Stripe's. The form lives in a frame of the twin's own origin; the page never sees a number.
// Source: https://docs.stripe.com/js/payment_intents/confirm_payment, .../js/elements_object.
(() => {
  "use strict";
  const origin = new URL(document.currentScript.src).origin;

  class IntegrationError extends Error {
    constructor(message) {
      super(message);
      this.name = "IntegrationError";
    }
  }

  const need = (good, message) => {
    if (!good) throw new IntegrationError(message);
  };

  class PaymentElement {
    constructor(key, settings) {
      this.key = key;
      this.settings = settings;
      this.listeners = {};
      this.waiting = new Map();
      this.asked = 0;
    }

    on(event, act) {
      (this.listeners[event] ||= []).push(act);
      return this;
    }

    mount(where) {
      const place = typeof where === "string" ? document.querySelector(where) : where;
      need(place, `The selector you specified (${where}) applies to no DOM elements.`);
      need(!this.frame, "This Element is already mounted.");
      const { clientSecret, locale, appearance } = this.settings;
      const theme = (appearance && appearance.theme) || "stripe";
      const { colorBackground = "" } = (appearance && appearance.variables) || {};
      const asked = new URLSearchParams({
        key: this.key, secret: clientSecret, locale, theme, background: colorBackground,
      });
      const frame = document.createElement("iframe");
      frame.title = "Secure payment input frame";
      frame.src = `${origin}/js/v3/element#${asked}`;
      frame.allow = "payment *";
      Object.assign(frame.style, {
        border: "0", display: "block", width: "calc(100% + 8px)", margin: "-4px", height: "15rem",
      });
      place.replaceChildren(frame);
      this.frame = frame;
      window.addEventListener("message", (event) => this.hear(event));
    }

    hear(event) {
      if (event.source !== this.frame.contentWindow || event.origin !== origin) return;
      const { what, height, id, answer } = event.data;
      if (what === "height") this.frame.style.height = `${height}px`;
      else if (what === "answer") this.waiting.get(id)(answer);
      else for (const act of this.listeners[what] || []) act({ elementType: "payment" });
    }

    ask(act, facts) {
      need(this.frame, "Element is not mounted.");
      const id = (this.asked += 1);
      return new Promise((resolve) => {
        this.waiting.set(id, resolve);
        this.frame.contentWindow.postMessage({ act, id, ...facts }, origin);
      });
    }
  }

  function elements(key, options, settings) {
    const { clientSecret } = settings || {};
    need(
      /^pi_[A-Za-z0-9]+_secret_[A-Za-z0-9]+$/.test(clientSecret || ""),
      "Invalid value for elements(): clientSecret should be a client secret of the form " +
        "${id}_secret_${secret}.",
    );
    const locale = settings.locale || (options && options.locale) || "auto";
    const made = {};
    return {
      create(type) {
        need(type === "payment", `The twin has no Element of type ${type}.`);
        need(!made.payment, "Can only create one Element of type payment.");
        made.payment = new PaymentElement(key, { ...settings, locale });
        return made.payment;
      },
      getElement: (type) => made[type] || null,
      submit: () => made.payment.ask("submit", {}),
    };
  }

  async function confirmPayment({ elements: used, confirmParams, redirect = "always" } = {}) {
    const element = used && used.getElement("payment");
    need(element, "In order to confirm a payment with Elements, a mounted Element is needed.");
    const back = confirmParams && confirmParams.return_url;
    need(
      back || redirect === "if_required",
      "stripe.confirmPayment(): the parameter confirmParams.return_url is required.",
    );
    const answer = await element.ask("confirm", { return_url: back });
    if (answer.error) return { error: answer.error };
    const intent = answer.paymentIntent;
    const action = intent.next_action;
    if (action && action.redirect_to_url) return leave(action.redirect_to_url.url);
    if (redirect === "if_required") return { paymentIntent: intent };
    const url = new URL(back);
    url.searchParams.set("payment_intent", intent.id);
    url.searchParams.set("payment_intent_client_secret", intent.client_secret);
    url.searchParams.set("redirect_status", intent.status === "processing" ? "pending" : "succeeded");
    return leave(url.href);
  }

  function leave(url) {
    window.location.assign(url);
    return new Promise(() => {});
  }

  window.Stripe = (key, options) => {
    need(typeof key === "string" && key, "Missing value for Stripe(): apiKey should be a string.");
    need(
      key.startsWith("pk_"),
      "Please use your publishable key with Stripe.js; never a secret key in a browser.",
    );
    return {
      elements: (settings) => elements(key, options, settings),
      confirmPayment,
    };
  };
})();
