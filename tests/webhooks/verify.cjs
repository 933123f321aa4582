// Judges messages with svix; argv: the folder of node_modules; stdin: the cases as JSON.
const assert = require("assert");
const path = require("path");

async function main() {
  const { pathToFileURL } = require("url");
  const [folder] = process.argv.slice(2);
  const { Webhook } = await import(pathToFileURL(path.join(folder, "svix/dist/index.mjs")));
  const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
  for (const one of cases) {
    let believed = true;
    try {
      new Webhook(one.secret).verify(one.body, one.headers);
    } catch (error) {
      if (error.constructor.name !== "WebhookVerificationError") throw error;
      believed = false;
    }
    assert.equal(believed, one.believed, one.name);
  }
  console.log(`${cases.length} as they should be`);
}

main().catch((error) => { console.error(error); process.exit(1); });
