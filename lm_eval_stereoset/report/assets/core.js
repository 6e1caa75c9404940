// Shared helpers. Texts reach the page through textContent and attributes only, never as markup.
// A `section` is one benchmark's part of the page: what its JSON declares and holds, and what the reader has chosen.
const report = JSON.parse(document.getElementById("report-data").textContent);
const panels = new Map(); // "benchmark/panel": (section, body, panel) => …; filled by the scripts of the benchmarks

function makeSection(data) {
  const metrics = new Map(data.metrics.map((metric) => [metric.name, metric]));
  const all = data.metrics.filter((metric) => metric.ideal !== null || metric.main);
  return {
    data, metrics, split: data.splits[0],
    main: all.filter((metric) => metric.main), // what models are compared by
    more: all.filter((metric) => !metric.main), // further results
    shares: data.metrics.filter((metric) => !all.includes(metric) && !metric.inPanel), // neither good nor bad, such as the share of ties
    languages: report.languages.map((language, l) => ({ ...language, l })).filter((language) => data.runs.some((run) => run.language === language.l)),
    part: (name) => document.getElementById(`${data.name}-${name}`),
    id: (name) => `${data.name}-${name}`,
    chosen: new Map(), // of each part of the page, see `choicesOf`
  };
}
// What the reader has chosen in a part of the page; `initial` at first.
function choicesOf(section, part, initial) {
  if (!section.chosen.has(part)) section.chosen.set(part, initial);
  return section.chosen.get(part);
}

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [name, action] of Object.entries(value)) node.addEventListener(name, action);
    else if (key === "css") for (const [name, text] of Object.entries(value)) node.style.setProperty(name, text);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}
const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);
const svg = (tag, props, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
const clear = (node) => { node.replaceChildren(); return node; };

const known = (x) => typeof x === "number" && Number.isFinite(x);
const fixed = (x, digits = 2) => (known(x) ? x.toFixed(digits).replace("-", "−") : "–");
const signed = (x, digits = 2) => (known(x) ? (x > 0 ? "+" : "") + fixed(x, digits) : "–");
const range = (low, high, digits = 1) => (known(low) && known(high) ? `${fixed(low, digits)} to ${fixed(high, digits)}` : "no interval");
const pText = (p) => (!known(p) ? "–" : p < 0.0001 ? "< 0.0001" : p < 0.01 ? p.toFixed(4) : p.toFixed(3));
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

// Numbers of a metric as its declaration has them: 59.49 %, or 0.5312.
const shown = (metric, x) => fixed(x, metric.digits);
const shownRange = (metric, low, high) => range(low, high, Math.max(0, metric.digits - 1));
const withUnit = (metric) => (metric.unit ? `${metric.title}, ${metric.unit}` : metric.title);
const distance = (metric, x) => (known(x) ? Math.abs(x - metric.ideal) : null);
// The higher, the better; of a metric without an ideal, the larger goes first.
const merit = (metric, x) => (!known(x) ? null : metric.ideal === null ? x : -Math.abs(x - metric.ideal));
const bestIs = (metric) => (metric.ideal === null ? "largest" : metric.middle ? `nearest to ${metric.ideal}` : metric.ideal === metric.high ? "highest" : metric.ideal === metric.low ? "lowest" : `nearest to ${metric.ideal}`);

// A model has the same colour and shape everywhere: eight colours, then again with another shape.
const colour = (model) => `var(--m${model % 8})`;
const shape = (model) => ["round", "square", "hollow"][Math.floor(model / 8) % 3];
function swatch(model) {
  const css = shape(model) === "hollow" ? { "border-color": colour(model) } : { background: colour(model) };
  return el("span", { class: `swatch ${shape(model)}`, css, "aria-hidden": "true" });
}
function marker(model, x, y, r) {
  const css = shape(model) === "hollow"
    ? { fill: "var(--paper)", stroke: colour(model), "stroke-width": "2.5" }
    : { fill: colour(model), stroke: "var(--paper)", "stroke-width": "1" };
  return shape(model) === "square"
    ? svg("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, css, class: "ring" })
    : svg("circle", { cx: x, cy: y, r, css, class: "ring" });
}
function modelName(model) {
  // Long names may break after a separator.
  const pieces = report.models[model].split(/(?<=[_/-])/).flatMap((piece, i) => (i ? [el("wbr", {}), piece] : [piece]));
  return el("span", { dir: "auto" }, swatch(model), pieces);
}
function legend(models) {
  return el("ul", { class: "legend", "aria-label": "Models" }, models.map((model) => el("li", {}, modelName(model))));
}

const runLabel = (run) => `${report.models[run.model]}, ${report.languages[run.language].name}`;
const valuesOf = (section, run, group = "overall", split = section.split) => run.values[split]?.[group];
const metricOf = (section, run, metric, group = "overall", split = section.split) => valuesOf(section, run, group, split)?.[metric] || [null, null, null];
const has = (section, run, metric, group = "overall") => known(metricOf(section, run, metric, group)[0]);
const hasAny = (section, run, metrics, group = "overall") => metrics.some((metric) => has(section, run, metric.name, group));
// "Split intra, " where there is more than one.
const splitText = (section) => (section.part("split") ? `split ${section.split}` : section.data.title);
const groupText = (section, group) => (group === "overall" ? `all ${section.data.groupName}s` : group);

function note(text) {
  return el("p", { class: "empty" }, text);
}
let fields = 0;
function field(label, control) {
  control.id ||= `field-${++fields}`;
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control);
}
function choice(label, options, selected, change) {
  const select = el("select", { on: { change: () => change(select.value) } });
  for (const [value, text] of options) select.append(el("option", { value, selected: String(value) === String(selected) }, text));
  return field(label, select);
}
function tick(label, checked, change) {
  const box = el("input", { type: "checkbox", checked, on: { change: () => change(box.checked) } });
  return el("label", { class: "check" }, box, label);
}
function figure(picture, text) {
  return el("figure", {}, picture, el("figcaption", {}, text));
}
// Room for drawing: the section's width, or a usual one while printing or hidden.
const room = (node) => Math.max(300, Math.min(node.clientWidth || 900, 1180));
const pen = document.createElement("canvas").getContext("2d");
function textWidth(text, size = 12) {
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
// The text, or as much of it as has room, with dots for the rest.
function fit(text, width, size = 12) {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(letters.join("") + "…", size) > width) letters.pop();
  return letters.join("") + "…";
}
// An axis that holds all these numbers and an ideal in the middle, within what the metric can be; ticks at round numbers.
function axisOf(metric, numbers) {
  const values = metric.middle ? [...numbers, metric.ideal] : numbers;
  const lowest = Math.min(...values), highest = Math.max(...values);
  const width = highest - lowest || 1;
  const power = 10 ** Math.floor(Math.log10(width / 4));
  const step = [1, 2, 5, 10].map((s) => s * power).find((s) => width / s <= 8);
  const inside = (x) => Math.min(metric.high ?? Infinity, Math.max(metric.low ?? -Infinity, x));
  const first = Math.floor(lowest / step), last = Math.ceil(highest / step);
  const ticks = [];
  for (let i = first === last ? first - 1 : first; i <= (first === last ? last + 1 : last); i++) {
    if (inside(i * step) === i * step) ticks.push(i * step);
  }
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return { low: inside(first * step), high: inside(last * step) > inside(first * step) ? inside(last * step) : inside(first * step) + step, ticks, text: (x) => fixed(x, decimals) };
}
