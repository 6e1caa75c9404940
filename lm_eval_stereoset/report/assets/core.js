// Shared helpers. Texts reach the page through textContent and attributes only, never as markup.
const data = JSON.parse(document.getElementById("report-data").textContent);
const state = { split: data.splits[0] };
const METRIC_NAMES = {
  lms: "LMS", ss: "SS", icat: "ICAT", mc_lms: "Multi-class LMS", mc_ss: "Multi-class SS",
  icat_macro: "Macro ICAT", icat_micro: "Micro ICAT",
};
const MAIN = ["lms", "ss", "icat"];
const MULTI = ["mc_lms", "mc_ss", "icat_macro", "icat_micro"];

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
const byId = (id) => document.getElementById(id);

const known = (x) => typeof x === "number" && Number.isFinite(x);
const fixed = (x, digits = 2) => (known(x) ? x.toFixed(digits).replace("-", "−") : "–");
const signed = (x, digits = 2) => (known(x) ? (x > 0 ? "+" : "") + fixed(x, digits) : "–");
const range = (low, high, digits = 1) => (known(low) && known(high) ? `${fixed(low, digits)} to ${fixed(high, digits)}` : "no interval");
const pText = (p) => (!known(p) ? "–" : p < 0.0001 ? "< 0.0001" : p < 0.01 ? p.toFixed(4) : p.toFixed(3));
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

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
  const pieces = data.models[model].split(/(?<=[_/-])/).flatMap((piece, i) => (i ? [el("wbr", {}), piece] : [piece]));
  return el("span", { dir: "auto" }, swatch(model), pieces);
}

const runLabel = (run) => `${data.models[run.model]}, ${data.languages[run.language].name}`;
const valuesOf = (run, group = "overall", split = state.split) => run.values[split]?.[group];
const metricOf = (run, metric, group = "overall", split = state.split) => valuesOf(run, group, split)?.[metric] || [null, null, null];
const has = (run, split = state.split) => known(metricOf(run, "ss", "overall", split)[0]);
const distance = (ss) => (known(ss) ? Math.abs(ss - 50) : null);

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
