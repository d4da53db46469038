"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const find = (selector, within = document) => within.querySelector(selector);
const make = (name, content = "", attributes = {}) => {
  const element = document.createElement(name);
  element.textContent = content;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

const models = data.models.map((model, number) => {
  const bytes = Uint8Array.from(atob(model.attention), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const weights = Float32Array.from({ length: bytes.length / 2 }, (_, at) => view.getUint16(2 * at, true) / 65535);
  return { ...model, number, weights, count: model.tokens.length, panel: find(`#attention-${number}`), plot: find(`#context-${number}`) };
});
const together = models.every((model) => String(model.tokens) === String(models[0].tokens));
const most = (key) => Math.max(...models.map((model) => model[key]));
const state = { layer: 0, head: 0, chosen: models.map(() => Math.min(1, models[0].count - 1)), pointed: models.map(() => null) };
const current = (model) => state.pointed[model.number] ?? state.chosen[model.number];

// The weights of a head, or the mean of all heads of a layer: T * T, row by row.
const matrix = (model, layer, head) => {
  const size = model.count ** 2;
  const at = (one) => model.weights.subarray((layer * model.heads + one) * size, (layer * model.heads + one + 1) * size);
  if (head >= 0) return at(head);
  const mean = new Float32Array(size);
  for (let one = 0; one < model.heads; one++) at(one).forEach((weight, place) => { mean[place] += weight / model.heads; });
  return mean;
};
const shownHead = (model) => [Math.min(state.layer, model.layers - 1), Math.min(state.head, model.heads - 1)];

// A weight as a colour, from low to high; its root, so that small weights can be told apart.
let scale = [];
const readScale = () => {
  const style = getComputedStyle(document.documentElement);
  const parts = (name) => [1, 3, 5].map((at) => parseInt(style.getPropertyValue(name).trim().slice(at, at + 2), 16));
  const [low, high] = [parts("--low"), parts("--high")];
  scale = Array.from({ length: 256 }, (_, at) => low.map((part, i) => Math.round(part + (high[i] - part) * at / 255)));
  const stops = [0, .01, .04, .16, .36, .64, 1].map((weight) => `rgb(${colour(weight)}) ${100 * weight}%`);
  find(".scale").style.background = `linear-gradient(to right, ${stops})`;
};
const colour = (weight) => scale[Math.round(255 * Math.sqrt(Math.min(1, weight)))];
// Whether black can be read on a colour better than white (WCAG's relative luminance).
const isLight = (fill) => {
  const [red, green, blue] = fill.map((part) => (part > 10 ? ((part / 255 + .055) / 1.055) ** 2.4 : part / 255 / 12.92));
  return .2126 * red + .7152 * green + .0722 * blue > .179;
};
const paint = (canvas, weights, count) => {
  canvas.width = canvas.height = count;
  const pixels = new ImageData(count, count);
  weights.forEach((weight, at) => pixels.data.set([...colour(weight), 255], 4 * at));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
};

const point = (model, token) => {
  for (const { number } of together ? models : [model]) state.pointed[number] = token;
  showTokens();
};
const choose = (model, token) => {
  for (const { number } of together ? models : [model]) [state.chosen[number], state.pointed[number]] = [token, null];
  showTokens();
};

const buildPanel = (model) => {
  const { panel, count } = model;
  const groups = [...panel.querySelectorAll(".tokens")];
  model.buttons = model.tokens.map((token, at) => {
    const button = make("button", "", { class: "token", type: "button" });
    button.append(make("bdi", token), make("small"));
    groups[Math.min(model.segments[at], groups.length - 1)].append(button);
    button.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") point(model, at); });
    button.addEventListener("pointerleave", () => point(model, null));
    button.addEventListener("focus", () => choose(model, at));
    button.addEventListener("click", () => choose(model, at));
    button.addEventListener("keydown", (event) => {
      const ahead = getComputedStyle(button).direction === "rtl" ? -1 : 1;
      const step = { ArrowRight: ahead, ArrowLeft: -ahead, ArrowDown: 1, ArrowUp: -1, Home: -at, End: count - 1 - at }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      model.buttons[Math.max(0, Math.min(count - 1, at + step))].focus();
    });
    return button;
  });

  const map = find(".map", panel);
  const canvas = find("canvas", map);
  for (const side of ["columns", "rows"]) {
    const labels = model.tokens.map((token) => {
      const label = make("div");
      label.append(make("bdi", token));
      return label;
    });
    find(`.${side}`, map).append(...labels);
    model[side] = labels;
  }
  const cell = (event) => {
    const box = canvas.getBoundingClientRect();
    const across = Math.floor((event.clientX - box.left) / box.width * count);
    const down = Math.floor((event.clientY - box.top) / box.height * count);
    const inside = (at) => Math.max(0, Math.min(count - 1, at));
    return [inside(down), inside(getComputedStyle(map).direction === "rtl" ? count - 1 - across : across)];
  };
  canvas.addEventListener("pointermove", (event) => {
    const [row, column] = cell(event);
    const line = find(".readout", panel);
    const weight = matrix(model, ...shownHead(model))[row * count + column];
    line.replaceChildren(make("bdi", model.tokens[row]), " looks at ", make("bdi", model.tokens[column]), `: ${weight.toFixed(4)}`);
  });
  canvas.addEventListener("click", (event) => choose(model, cell(event)[state.direction === "column" ? 1 : 0]));

  const heads = find(".heads", panel);
  model.thumbnails = [];
  heads.append(make("span"), ...Array.from({ length: model.heads }, (_, head) => make("span", head + 1)));
  for (let layer = 0; layer < model.layers; layer++) {
    heads.append(make("span", layer + 1));
    for (let head = 0; head < model.heads; head++) {
      const button = make("button", "", { type: "button", "aria-label": `Layer ${layer + 1}, head ${head + 1}`, dir: map.dir });
      button.append(make("canvas"));
      button.addEventListener("click", () => {
        [state.layer, state.head] = [layer, head];
        [find("#layer").value, find("#head").value] = [layer, head];
        showHeads();
      });
      heads.append(button);
      model.thumbnails.push({ button, layer, head });
    }
  }
  const body = find(".numbers tbody", panel);
  model.cells = model.tokens.map((token) => {
    const row = make("tr");
    const name = make("th", "", { scope: "row" });
    name.append(make("bdi", token));
    const cells = [make("td", "", { class: "number" }), make("td", "", { class: "number" })];
    row.append(name, ...cells);
    body.append(row);
    return cells;
  });
};

const showHeads = () => {
  for (const model of models) {
    const [layer, head] = shownHead(model);
    const which = head < 0 ? `mean of ${model.heads} heads` : `head ${head + 1} of ${model.heads}`;
    find(".caption", model.panel).textContent = `Layer ${layer + 1} of ${model.layers}, ${which}`;
    paint(find(".map canvas", model.panel), matrix(model, layer, head), model.count);
    for (const one of model.thumbnails) one.button.setAttribute("aria-pressed", one.layer === layer && one.head === head);
  }
  showTokens();
};

const showTokens = () => {
  state.direction = find("#direction").value;
  for (const model of models) {
    const { count } = model;
    const token = current(model);
    const weights = matrix(model, ...shownHead(model));
    model.buttons.forEach((button, other) => {
      const weight = state.direction === "row" ? weights[token * count + other] : weights[other * count + token];
      const fill = colour(weight);
      button.style.background = `rgb(${fill})`;
      button.style.color = isLight(fill) ? "#000" : "#fff";
      find("small", button).textContent = weight.toFixed(2);
      button.setAttribute("aria-pressed", other === token);
      button.tabIndex = other === state.chosen[model.number] ? 0 : -1;
      model.cells[other][0].textContent = weights[token * count + other].toFixed(4);
      model.cells[other][1].textContent = weights[other * count + token].toFixed(4);
    });
    model.rows.forEach((label, at) => label.classList.toggle("chosen", at === token && state.direction === "row"));
    model.columns.forEach((label, at) => label.classList.toggle("chosen", at === token && state.direction === "column"));
    find(".numbers caption", model.panel).replaceChildren("Weights of ", make("bdi", model.tokens[token]));
    model.dots?.forEach((dot, at) => dot.classList.toggle("chosen", at === token));
  }
};

const repaint = () => {
  readScale();
  for (const model of models) {
    for (const { button, layer, head } of model.thumbnails) {
      paint(find("canvas", button), matrix(model, layer, head), model.count);
    }
  }
  showHeads();
};

// The plot of tokens in context: a dot for each, and names where there is room.
const [WIDTH, HEIGHT, EDGE] = [480, 340, 40];
const svg = (name, attributes = {}) => {
  const element = document.createElementNS(find("svg").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const pen = make("canvas").getContext("2d");
const buildPlot = (model) => {
  const plot = find("svg", model.plot);
  model.dots = model.tokens.map((token, at) => {
    const dot = svg("g", { class: model.segments[at] ? "dot second" : "dot" });
    const title = svg("title");
    title.textContent = `${token} (place ${at + 1})`;
    dot.append(svg("circle", { r: 4 }), title);
    dot.addEventListener("pointerenter", () => point(model, at));
    dot.addEventListener("pointerleave", () => point(model, null));
    return dot;
  });
  model.labels = model.tokens.map((token) => {
    const label = svg("text", { class: "label", "aria-hidden": true });
    label.textContent = token;
    return label;
  });
  plot.append(...model.labels, ...model.dots);
};
const showPlot = (model) => {
  const depth = Math.min(Number(find("#depth").value), model.layers);
  pen.font = "13px system-ui, sans-serif";
  const places = model.places[depth];
  const edges = [0, 1].map((axis) => [Math.min, Math.max].map((edge) => edge(...places.map((place) => place[axis]))));
  const [across, up] = edges.map(([low, high]) => Math.max(1e-9, high - low));
  const unit = Math.min((WIDTH - 2 * EDGE) / across, (HEIGHT - 2 * EDGE) / up);  // the same across and up
  const [middle, half] = edges.map(([low, high]) => (low + high) / 2);
  const centres = places.map(([x, y]) => [WIDTH / 2 + (x - middle) * unit, HEIGHT / 2 - (y - half) * unit]);
  const taken = centres.map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]);
  const free = ([left, top, right, bottom]) => left > 0 && right < WIDTH && top > 0 && bottom < HEIGHT
    && taken.every((box) => right < box[0] || left > box[2] || bottom < box[1] || top > box[3]);
  centres.forEach(([x, y], at) => {
    model.dots[at].style.transform = `translate(${x}px, ${y}px)`;
    const wide = pen.measureText(model.tokens[at]).width;
    const corners = [[x + 7, y - 7], [x - 7 - wide, y - 7], [x - wide / 2, y - 21], [x - wide / 2, y + 7]];
    const box = corners.map(([left, top]) => [left, top, left + wide, top + 14]).find(free);
    const label = model.labels[at];
    label.style.visibility = box ? "visible" : "hidden";
    if (!box) return;
    taken.push(box);
    // Text that runs from right to left begins on the right, whatever the page does.
    label.setAttribute("text-anchor", "middle");
    label.style.transform = `translate(${box[0] + wide / 2}px, ${box[1] + 11}px)`;
  });
  const [first, second] = model.variance[depth].map((share) => `${Math.round(100 * share)} %`);
  const after = depth ? `After layer ${depth} of ${model.layers}` : "What the first layer reads";
  find(".caption", model.plot).textContent = `${after}: ${first} of the variance across, ${second} up`;
  find("#depth-shown").textContent = find("#depth").value;
};

const options = (select, names) => select.append(...names.map(([value, name]) => make("option", name, { value })));
options(find("#layer"), Array.from({ length: most("layers") }, (_, at) => [at, `${at + 1}`]));
options(find("#head"), [...Array.from({ length: most("heads") }, (_, at) => [at, `${at + 1}`]), [-1, "mean of all"]]);
find("#depth").max = most("layers");
find("#depth").value = most("layers");
for (const name of ["layer", "head"]) {
  find(`#${name}`).addEventListener("change", (event) => { state[name] = Number(event.target.value); showHeads(); });
}
find("#direction").addEventListener("change", showTokens);
find("#depth").addEventListener("input", () => models.forEach(showPlot));
for (const model of models) {
  buildPanel(model);
  buildPlot(model);
  showPlot(model);
}
for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", repaint);
repaint();
