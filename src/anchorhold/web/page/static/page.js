// What the hosted page does in a browser: it mounts Stripe's form, asks for one confirm at a time,
// and shows the truth again whenever the invoice moved.
(() => {
  "use strict";

  const page = document.getElementById("page");
  const { state, amount, url, key, secret, locale } = page.dataset;
  const pollMs = Number(page.dataset.pollS) * 1000;
  let paying = false;

  const again = (how = "") => location.replace(url + how);

  async function moved() {
    const answer = await fetch(`${url}/state`, { cache: "no-store", credentials: "omit" });
    if (answer.status === 429) return false;
    const now = await answer.json();
    return now.state !== state || String(now.amount) !== amount;
  }

  async function look() {
    if (paying || document.hidden) return;
    try {
      if ((await moved()) && !paying) again();
    } catch {
      // No network for a moment: the next look asks again.
    }
  }

  if (pollMs > 0) {
    setInterval(look, pollMs);
    document.addEventListener("visibilitychange", look);
  }
  // A page from the back button's memory shows what was, and its secret may be another one now.
  window.addEventListener("pageshow", (event) => event.persisted && again());

  const print = document.getElementById("print");
  if (print) {
    print.hidden = false;
    print.addEventListener("click", () => window.print());
  }

  const form = document.getElementById("pay");
  if (!form) return;
  const button = document.getElementById("button");
  const said = document.getElementById("said");

  const notLoaded = () => {
    document.getElementById("element").hidden = true;
    document.getElementById("not-loaded").hidden = false;
  };

  const working = (on) => {
    paying = on;
    button.disabled = on;
    form.setAttribute("aria-busy", String(on));
    button.querySelector(".label").hidden = on;
    button.querySelector(".working").hidden = !on;
  };

  const say = (text) => {
    said.textContent = text;
    said.hidden = !text;
  };

  if (typeof window.Stripe !== "function") {
    notLoaded();
    return;
  }
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  // Stripe takes plain colours: what a variable comes to here, in light or dark.
  const color = (name) => {
    said.style.color = `var(${name})`;
    const plain = getComputedStyle(said).color;
    said.style.color = "";
    return plain;
  };
  const stripe = window.Stripe(key, { locale });
  const elements = stripe.elements({
    clientSecret: secret,
    appearance: {
      theme: dark ? "night" : "stripe",
      variables: {
        borderRadius: "10px",
        colorBackground: color("--paper"),
        colorText: color("--ink"),
        colorPrimary: color("--act"),
      },
    },
  });
  const element = elements.create("payment", { layout: "tabs" });
  element.on("ready", () => {
    button.disabled = false;
  });
  element.on("loaderror", () => look().then(notLoaded));
  element.mount("#element");

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (paying || button.disabled) return;
    working(true);
    say("");
    try {
      if (await moved()) return again();
    } catch {
      // Whether it moved is Stripe's to say then: it confirms a PaymentIntent at most once.
    }
    const returnUrl = new URL(`${url}/return`, location.href).href;
    let error;
    try {
      ({ error } = await stripe.confirmPayment({
        elements,
        confirmParams: { return_url: returnUrl },
      }));
    } catch (thrown) {
      error = { type: "api_error", message: String(thrown) };
    }
    // Only a payment that did not go through comes back here.
    if (error.type === "card_error" || error.type === "validation_error") {
      working(false);
      say(error.message);
      return undefined;
    }
    // No clear answer, or the invoice moved: what Stripe knows decides what is shown next.
    return location.replace(`${url}/return`);
  });
})();
