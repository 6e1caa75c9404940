// Target terms x languages: SS as colour and number, of one model or as the mean of all.
const targets = { model: "mean", type: "all" };

function drawTargets() {
  const body = clear(byId("targets-body"));
  const heat = data.heat[state.split] || [];
  const withHeat = data.runs.map((run, i) => ({ run, heat: heat[i] })).filter((x) => x.heat);
  if (!withHeat.length) {
    body.append(note(`No heat map: it needs the samples, and no result has them for the split ${state.split} (run with --log_samples, or give prediction files).`));
    return;
  }
  const models = [...new Set(withHeat.map((x) => x.run.model))].sort((a, b) => a - b);
  if (targets.model !== "mean" && !models.includes(Number(targets.model))) targets.model = "mean";
  const types = [...new Set(data.targets.map((t) => t.type))];
  const set = (key) => (value) => { targets[key] = value; drawTargets(); };
  body.append(el("div", { class: "controls" },
    choice("Model", [["mean", "mean of all models"], ...models.map((m) => [m, data.models[m]])], targets.model, set("model")),
    choice("Bias type", [["all", "all"], ...types.map((t) => [t, t])], targets.type, set("type"))));
  const chosen = withHeat.filter((x) => targets.model === "mean" || x.run.model === Number(targets.model));
  const languages = data.languages.map((language, l) => ({ language, l, runs: chosen.filter((x) => x.run.language === l) })).filter((c) => c.runs.length);
  const rows = data.targets.map((target, t) => {
    const cells = languages.map((c) => {
      const values = c.runs.map((x) => x.heat.ss[t]).filter(known);
      return { ss: values.length ? values.reduce((a, b) => a + b, 0) / values.length : null, n: Math.max(0, ...c.runs.map((x) => x.heat.n[t])) };
    });
    return { target, t, cells };
  }).filter((row) => (targets.type === "all" || row.target.type === targets.type) && row.cells.some((c) => known(c.ss)));
  const columns = [
    { label: "Target term", value: (row) => row.target.name,
      cell: (row) => (data.examples
        ? el("button", { type: "button", dir: "auto", title: "Show the examples about this term", on: { click: () => showTarget(row.t) } }, row.target.name)
        : row.target.name) },
    { label: "Bias type", value: (row) => row.target.type },
    ...languages.map((c, i) => ({
      label: c.language.name, num: true, descending: true, value: (row) => row.cells[i].ss, cell: (row) => heatCell(row, row.cells[i], c.language.name),
    })),
  ];
  if (languages.length > 1) columns.push({ label: "Mean", num: true, descending: true, value: meanOf, cell: (row) => heatCell(row, { ss: meanOf(row), n: 0 }, "mean") });
  const who = targets.model === "mean" ? "mean of all models with samples" : data.models[targets.model];
  const sizes = rows.flatMap((row) => row.cells.map((c) => c.n)).filter((n) => n > 0).sort((a, b) => a - b);
  const usual = sizes[Math.floor(sizes.length / 2)] || 1;
  body.append(el("p", {}, `SS of each target term: above 50 the stereotype is preferred. A term has ${sizes[0]} to ${sizes[sizes.length - 1]} examples here; ` +
    `with ${usual}, one model's cell is uncertain by about ±${Math.round(98 / Math.sqrt(usual))} points. Choose a term to see its examples.`),
    el("div", { class: "scale", "aria-hidden": "true" }, "anti-stereotype 20", el("i", {}), "80 stereotype"),
    sortable({ caption: `SS in per cent, split ${state.split}, ${who}; ${plural(rows.length, "target term")}.`, label: "Heat map of target terms and languages",
      columns, rows, tall: true, className: "heat", sort: { column: 1, descending: false } }));
}
function meanOf(row) {
  const values = row.cells.map((c) => c.ss).filter(known);
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
}
function heatCell(row, { ss, n }, where) {
  if (!known(ss)) return el("td", { class: "num" }, "–");
  const t = Math.min(1, Math.abs(ss - 50) / 30);
  return el("td", { class: ss >= 50 ? "hot" : "cold", css: { "--t": t.toFixed(3) }, title: `${row.target.name}, ${where}: SS ${fixed(ss, 1)}${n ? `, ${plural(n, "example")}` : ""}` }, fixed(ss, 0));
}
