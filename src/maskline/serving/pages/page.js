"use strict";

// Everything that comes from the server is shown as text, never as HTML.

let key = "";
let fields = [];
let filling = false;

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

async function call(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const options = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error.message), { status: response.status });
  return answer;
}

function table(caption, head, rows) {
  const made = element("table");
  made.append(element("caption", caption));
  const top = made.createTHead().insertRow();
  head.forEach((name, at) => {
    const kind = rows.length && typeof rows[0][at] === "number" ? { class: "number" } : {};
    top.append(element("th", name, { scope: "col", ...kind }));
  });
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const value of row) {
      const number = typeof value === "number";
      const cell = element("td", number ? value.toFixed(3) : value, { dir: "auto" });
      if (number) cell.className = "number";
      line.append(cell);
    }
  }
  return made;
}

function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, at) => sum + value * y[at], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

function showVectors(answer, texts, place) {
  const shown = 5;
  const caption = `vectors of ${answer.vectors[0].length} numbers, the first ${shown} of each`;
  const head = ["text", "tokens", ...Array.from({ length: shown }, (_, at) => `${at + 1}`)];
  const rows = answer.vectors.map((vector, at) => [texts[at], `${answer.tokens[at]}`, ...vector.slice(0, shown)]);
  place.append(table(caption, head, rows));
  if (texts.length > 1) {
    const alike = answer.vectors.map((a, at) => [texts[at], ...answer.vectors.map((b) => cosine(a, b))]);
    place.append(table("How alike: cosines", ["text", ...texts.map((_, at) => `${at + 1}`)], alike));
  }
}

function inWords(value) {
  if (Array.isArray(value)) return value.map(inWords).join("; ") || "none";
  if (value !== null && typeof value === "object") {
    return Object.entries(value).map(([name, part]) => `${name} ${inWords(part)}`).join(", ");
  }
  if (typeof value === "number" && !Number.isInteger(value)) return value.toFixed(3);
  return value === null ? "none" : `${value}`;
}

function showPrediction(answer, place) {
  const rows = Object.entries(answer.predictions[0]).map(([name, value]) => [name, inWords(value)]);
  place.append(table("What the model says", ["what", "answer"], rows));
}

function showFills(answer, place) {
  answer.fills[0].forEach((mask, at) => {
    const caption = answer.fills[0].length > 1 ? `[MASK] ${at + 1}` : "In place of [MASK]";
    place.append(table(caption, ["token", "probability", "text"], mask.map((one) => [one.token, one.probability, one.text])));
  });
}

function showHits(answer, place) {
  if (!answer.hits.length) place.append(element("p", "No document has a word of the query."));
  const list = element("ol");
  for (const hit of answer.hits) {
    const item = element("li", undefined, { dir: "auto" });
    item.append(element("strong", hit.title || hit.id), element("span", ` (${hit.score.toFixed(4)})`, { class: "quiet" }));
    item.append(element("div", hit.snippet));
    list.append(item);
  }
  place.append(list);
}

function answering(section, ask) {
  section.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = section.querySelector("button");
    const place = section.querySelector(".answer");
    const fault = section.querySelector(".fault");
    place.replaceChildren();
    fault.textContent = "";
    button.disabled = true;
    try {
      await ask(place);
    } catch (error) {
      fault.textContent = error.message;
      if (error.status === 401) askForKey(error.message);
    } finally {
      button.disabled = false;
    }
  });
}

function value(id) {
  return document.getElementById(id).value;
}

function askForKey(message) {
  document.getElementById("key-form").hidden = false;
  document.getElementById("key-fault").textContent = key ? message : "";
}

function offer(section, reason) {
  const absent = section.querySelector(".absent");
  section.querySelector("form").hidden = Boolean(reason);
  absent.hidden = !reason;
  absent.textContent = reason || "";
}

function field(name, label) {
  const id = `ask-${name}`;
  return [element("label", label, { for: id }), element("textarea", undefined, { id, rows: 2, dir: "auto", required: "" })];
}

async function begin() {
  let info;
  try {
    info = await call("/info");
  } catch (error) {
    askForKey(error.message);
    return;
  }
  document.getElementById("key-form").hidden = true;
  document.getElementById("model").textContent = info.model;
  const [embed, ask, search] = ["embed", "ask", "search"].map((id) => document.getElementById(id));
  offer(embed, info.absent.embed);
  filling = !info.offers.includes("predict") && info.offers.includes("fill-mask");
  fields = info.fields;
  const inputs = filling ? field("text", "A text with [MASK] where a word is missing") : fields.flatMap((one) => field(one, one));
  ask.querySelector(".fields").replaceChildren(...inputs);
  ask.querySelector("h2").textContent = filling ? "Fill" : "Predict";
  offer(ask, filling ? "" : info.absent.predict);
  offer(search, info.absent.search);
  if (info.index) {
    document.getElementById("method").replaceChildren(...info.index.methods.map((one) => element("option", one)));
  }
}

document.getElementById("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = value("key");
  begin();
});
answering(document.getElementById("embed"), async (place) => {
  const texts = value("embed-texts").split("\n").filter((text) => text.trim());
  showVectors(await call("/embed", { texts }), texts, place);
});
answering(document.getElementById("ask"), async (place) => {
  if (filling) {
    showFills(await call("/fill-mask", { texts: [value("ask-text")] }), place);
  } else {
    const input = Object.fromEntries(fields.map((name) => [name, value(`ask-${name}`)]));
    showPrediction(await call("/predict", { inputs: [input] }), place);
  }
});
answering(document.getElementById("search"), async (place) => {
  showHits(await call("/search", { query: value("query"), method: value("method") }), place);
});
begin();
