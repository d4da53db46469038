"use strict";
// Draws the figures of the page, sorts its tables and, where it is served live, keeps both up to date.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const views = new Map();
  const choices = new Map();
  const ZOOM = "zoom";

  const look = {
    background: null,
    font: "system-ui, 'Noto Sans', 'Liberation Sans', sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: "var(--soft)", titleColor: "var(--soft)", gridColor: "var(--grid)", domainColor: "var(--grey)",
      tickColor: "var(--grey)", labelFontSize: 11, titleFontSize: 11, titleFontWeight: "normal", labelLimit: 160, labelFlush: false,
    },
    legend: { labelColor: "var(--ink)", labelFontSize: 12, symbolStrokeWidth: 3, symbolSize: 120 },
    text: { color: "var(--ink)" },
  };

  const objects = (table) =>
    table.rows.map((row) => Object.fromEntries(table.columns.map((name, place) => [name, row[place]])));

  // The specification of a figure, drawn against the column and on the axes that were chosen.
  function adjusted(figure, choice) {
    const spec = structuredClone(figure.spec);
    const hasLogarithm = (row) => !(figure.loss && choice.logY) || row.value > 0;
    const rows = (table) => objects(table).map((row) => (hasLogarithm(row) ? row : { ...row, value: null }));
    const tables = Object.entries(figure.data).map(([name, table]) => [name, rows(table)]);
    spec.datasets = { ...spec.datasets, ...Object.fromEntries(tables) };
    const first = Object.keys(figure.axes)[0];
    const visit = (part) => {
      const { x, y } = part.encoding ?? {};
      if (x?.field === first && first) {
        x.field = choice.x in figure.axes ? choice.x : first;
        x.title = figure.axes[x.field];
        if (x.field === "tokens") x.axis = { ...x.axis, format: "~s" };
        x.scale = { ...x.scale, padding: 6, ...(choice.logX ? { type: "log" } : { type: "linear", zero: true }), nice: false };
      }
      if (y && figure.loss && choice.logY) y.scale = { type: "log", nice: false };
      for (const layer of part.layer ?? []) visit(layer);
    };
    visit(spec);
    return spec;
  }

  // The cell around a point asks for the row of the point, which stands one step deeper than Vega-Lite 6.4 looks for it.
  function corrected(spec) {
    const visit = (marks) => {
      for (const mark of marks) {
        const tooltip = mark.encode?.update?.tooltip;
        if (mark.name?.endsWith("_voronoi") && tooltip) tooltip.signal = tooltip.signal.replaceAll('datum["', 'datum.datum["');
        visit(mark.marks ?? []);
      }
    };
    visit(spec.marks);
    return spec;
  }

  async function draw(key) {
    const element = document.getElementById(key);
    if (!element) return;
    const choice = choices.get(key) ?? {};
    views.get(key)?.finalize();
    const columns = element.clientWidth < 700 ? 1 : 2;
    const legend = { ...look.legend, columns, labelLimit: Math.max(80, element.clientWidth / columns - 90) };
    const options = {
      actions: false, renderer: "svg", mode: "vega-lite", config: { ...look, legend }, tooltip: { disableDefaultStyle: true }, patch: corrected,
    };
    const { view } = await vegaEmbed(element, adjusted(figures[key], choice), options);
    views.set(key, view);
    element.dataset.drawn = "";
  }

  // Zoom by a factor around the middle, as the keyboard does it; null shows everything.
  function zoom(key, factor) {
    const view = views.get(key);
    if (!view || !(`${ZOOM}_tuple` in view.getState().signals)) return;
    if (factor === null) {
      draw(key);
      return;
    }
    for (const [axis, range] of [["x", [0, view.width()]], ["y", [view.height(), 0]]]) {
      const scale = view.scale(axis);
      const middle = (range[0] + range[1]) / 2;
      const ends = range.map((end) => scale.invert(middle + (end - middle) * factor));
      const name = Object.keys(view.getState().signals).find((signal) => signal === `${ZOOM}_${fieldOf(key, axis)}`);
      if (name) view.signal(name, ends);
    }
    view.run();
  }

  function fieldOf(key, axis) {
    const figure = figures[key];
    if (axis === "y") return "value";
    const first = Object.keys(figure.axes)[0];
    const chosen = choices.get(key)?.x;
    return chosen in figure.axes ? chosen : first;
  }

  function prepareControls(root) {
    for (const box of root.querySelectorAll(".controls")) {
      const keys = box.dataset.figures.split(" ");
      const choose = () => {
        for (const key of keys) {
          choices.set(key, {
            x: box.querySelector("input[type=radio]:checked").value,
            logX: box.querySelector("input[value=log-x]").checked,
            logY: box.querySelector("input[value=log-y]")?.checked ?? false,
          });
        }
      };
      box.addEventListener("change", () => {
        choose();
        keys.forEach(draw);
      });
      box.addEventListener("click", (event) => {
        if (event.target.matches("button")) {
          const factor = { in: 0.5, out: 2, all: null }[event.target.value];
          keys.forEach((key) => zoom(key, factor));
        }
      });
      choose();
    }
  }

  function sortBy(table, column, ascending) {
    const body = table.tBodies[0];
    const value = (row) => {
      const cell = row.cells[column];
      return cell.dataset.order === undefined ? cell.textContent.trim() : Number(cell.dataset.order);
    };
    const compare = (one, other) => {
      const [a, b] = [value(one), value(other)];
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // what has no number stands last
      const order = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return ascending ? order : -order;
    };
    body.append(...[...body.rows].sort(compare));
  }

  function prepareTables(root) {
    for (const table of root.querySelectorAll("table.sortable")) {
      const heads = [...table.tHead.rows[0].cells];
      heads.forEach((head, column) => {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          const ascending = head.getAttribute("aria-sort") !== "ascending";
          heads.forEach((other) => other.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
          sortBy(table, column, ascending);
        });
      });
    }
  }

  function prepare(root) {
    prepareControls(root);
    prepareTables(root);
    return Promise.all([...root.querySelectorAll(".chart")].map((chart) => draw(chart.id)));
  }

  // Served live: what has changed is asked for every two seconds. A figure whose data alone have changed keeps its zoom.
  const PAUSE = 2000;
  const shown = new Map();
  let version = "";
  let lead = null;

  function refill(key, figure) {
    const before = figures[key];
    figures[key] = figure;
    const view = views.get(key);
    if (!view || JSON.stringify(before?.spec) !== JSON.stringify(figure.spec)) return draw(key);
    if (JSON.stringify(before.data) === JSON.stringify(figure.data)) return undefined;
    for (const [name, table] of Object.entries(figure.data)) view.data(name, objects(table));
    return view.runAsync();
  }

  async function replace(section, content) {
    const place = document.querySelector(`#${section.key} > .content`);
    const open = [...place.querySelectorAll("details[open]")].map((details) => details.id);
    const chosen = [...place.querySelectorAll(".controls input")].map((input) => input.checked);
    for (const chart of place.querySelectorAll(".chart")) views.get(chart.id)?.finalize();
    place.innerHTML = section.html;
    open.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    const inputs = [...place.querySelectorAll(".controls input")];
    if (inputs.length === chosen.length) inputs.forEach((input, number) => { input.checked = chosen[number]; });
    for (const chart of place.querySelectorAll(".chart")) {
      views.delete(chart.id);
      figures[chart.id] = content.figures[chart.id];
    }
    await prepare(place);
  }

  async function update(content) {
    const keys = [...document.querySelectorAll("main > section")].map((section) => section.id);
    if (keys.join() !== content.sections.map((section) => section.key).join()) {
      location.reload();
      return;
    }
    if (lead !== content.lead) document.getElementById("lead").innerHTML = content.lead;
    lead = content.lead;
    for (const section of content.sections) {
      for (const place of document.querySelectorAll(`#${section.key}-title, nav a[href="#${section.key}"]`)) {
        if (place.innerHTML !== section.title) place.innerHTML = section.title;
      }
      if (shown.has(section.key) && shown.get(section.key) !== section.html) await replace(section, content);
      shown.set(section.key, section.html);
    }
    for (const [key, figure] of Object.entries(content.figures)) await refill(key, figure);
    document.body.dataset.version = content.version;
  }

  function tell() {
    for (const place of document.querySelectorAll("[data-since]")) {
      const seconds = Math.max(0, Math.round(Date.now() / 1000 - Number(place.dataset.since)));
      place.textContent = seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
    }
  }

  async function follow() {
    try {
      const content = await (await fetch(`state?since=${version}`)).json();
      document.body.removeAttribute("data-lost");
      if (content) {
        version = content.version;
        await update(content);
      }
    } catch (error) {
      document.body.setAttribute("data-lost", String(error));
    }
    tell();
    setTimeout(follow, PAUSE);
  }

  prepare(document).then(() => {
    document.body.setAttribute("data-ready", "");
    if ("live" in document.body.dataset) follow();
  });
})();
