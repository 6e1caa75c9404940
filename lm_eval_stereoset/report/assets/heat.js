// Clusters (or groups) x languages: a metric as colour and number, of one model or as the mean of all.
function drawHeat(section) {
  const body = section.part("heat-body");
  if (!body) return;
  clear(body);
  const { data } = section;
  const rowKinds = [...(data.splits.some((split) => data.heat[split]) ? [["clusters", data.clusterName]] : []), ...(data.groups.length > 2 ? [["groups", data.groupName]] : [])];
  const chosen = choicesOf(section, "heat", { model: "mean", group: "all", metric: data.heatMetrics[0], rows: rowKinds[0]?.[0] });
  const metric = section.metrics.get(chosen.metric);
  if (!data.runs.some((run) => run.samples)) {
    body.append(note(`No heat map of ${data.clusterName}s: it needs the samples, and no result has them (run with --log_samples, or give prediction files).`));
  }
  const source = chosen.rows === "groups" ? groupHeat(section, metric) : chosen.rows ? clusterHeat(section, metric) : [];
  if (!source.length) {
    if (!body.childElementCount) body.append(note(`Nothing to show: no result has ${metric.title} for ${splitText(section)}.`));
    return;
  }
  const models = [...new Set(source.map((x) => x.run.model))].sort((a, b) => a - b);
  if (chosen.model !== "mean" && !models.includes(Number(chosen.model))) chosen.model = "mean";
  const set = (key) => (value) => { chosen[key] = value; drawHeat(section); };
  const items = chosen.rows === "groups" ? data.groups.slice(1).map((name) => ({ name, group: name })) : data.clusters;
  const groups = [...new Set(items.map((item) => item.group))];
  body.append(el("div", { class: "controls" },
    choice("Model", [["mean", "mean of all models"], ...models.map((m) => [m, report.models[m]])], chosen.model, set("model")),
    data.heatMetrics.length > 1 && choice("Metric", data.heatMetrics.map((name) => [name, section.metrics.get(name).title]), chosen.metric, set("metric")),
    rowKinds.length > 1 && choice("Rows", rowKinds.map(([key, name]) => [key, `${name}s`]), chosen.rows, set("rows")),
    chosen.rows === "clusters" && groups.length > 1 && choice(capital(data.groupName), [["all", "all"], ...groups.map((g) => [g, g])], chosen.group, set("group"))));
  const used = source.filter((x) => chosen.model === "mean" || x.run.model === Number(chosen.model));
  const languages = section.languages.map((language) => ({ ...language, runs: used.filter((x) => x.run.language === language.l) })).filter((c) => c.runs.length);
  const rows = items.map((item, i) => ({ item, i, cells: languages.map((c) => meanCell(c.runs, i)) }))
    .filter((row) => (chosen.group === "all" || chosen.rows === "groups" || row.item.group === chosen.group) && row.cells.some((c) => known(c.value)));
  const scale = scaleOf(metric, rows.flatMap((row) => row.cells.map((c) => c.value)).filter(known));
  const what = chosen.rows === "groups" ? data.groupName : data.clusterName;
  const link = data.examples && chosen.rows === "clusters";
  const columns = [
    { label: capital(what), value: (row) => row.item.name,
      cell: (row) => (link
        ? el("button", { type: "button", dir: "auto", title: "Show its examples", on: { click: () => showCluster(section, row.i) } }, row.item.name)
        : el("span", { dir: "auto" }, row.item.name)) },
    ...(chosen.rows === "clusters" && groups.length > 1 ? [{ label: capital(data.groupName), value: (row) => row.item.group }] : []),
    ...languages.map((c, i) => ({
      label: c.name, num: true, descending: true, value: (row) => row.cells[i].value, cell: (row) => heatCell(metric, scale, row, row.cells[i], c.name),
    })),
  ];
  if (languages.length > 1) columns.push({ label: "Mean", num: true, descending: true, value: meanOf, cell: (row) => heatCell(metric, scale, row, { value: meanOf(row), n: 0 }, "mean") });
  const who = chosen.model === "mean" ? "mean of all models" : report.models[chosen.model];
  const sorted = chosen.rows === "clusters" && groups.length > 1 ? 1 : 0;
  body.append(el("p", {}, heatText(section, metric, what, rows, link)),
    el("div", { class: "scale", "aria-hidden": "true" }, `${metric.poles ? `${metric.poles[0]} ` : ""}${fixed(scale.middle - scale.reach, metric.digits - 2)}`, el("i", {}), `${fixed(scale.middle + scale.reach, metric.digits - 2)}${metric.poles ? ` ${metric.poles[1]}` : ""}`),
    sortable({ caption: `${withUnit(metric)}, ${splitText(section)}, ${who}; ${plural(rows.length, what)}.`, label: `Heat map of ${what}s and languages`,
      columns, rows, tall: rows.length > 20, className: "heat", sort: { column: sorted, descending: false } }));
}
// [{run, values, n}]: a number per cluster or group of each run that has some.
function clusterHeat(section, metric) {
  const heat = section.data.heat[section.split] || [];
  return section.data.runs.map((run, i) => heat[i] && { run, values: heat[i].values[metric.name], n: heat[i].n }).filter(Boolean);
}
function groupHeat(section, metric) {
  const groups = section.data.groups.slice(1);
  return section.data.runs.map((run) => ({ run, values: groups.map((g) => metricOf(section, run, metric.name, g)[0]), n: groups.map((g) => valuesOf(section, run, g)?.n || 0) }))
    .filter((x) => x.values.some(known));
}
function meanCell(runs, i) {
  const values = runs.map((x) => x.values[i]).filter(known);
  return { value: values.length ? values.reduce((a, b) => a + b, 0) / values.length : null, n: Math.max(0, ...runs.map((x) => x.n[i])) };
}
function meanOf(row) {
  const values = row.cells.map((c) => c.value).filter(known);
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
}
// Around the ideal, as far as three fifths of the way to the nearer end; SS: 20 to 80. Without ends, as far as the data go.
function scaleOf(metric, values) {
  const middle = metric.ideal ?? values.reduce((a, b) => a + b, 0) / Math.max(values.length, 1);
  const ends = metric.ideal === null ? [] : [metric.low, metric.high].filter((end) => known(end) && end !== middle);
  const reach = ends.length ? 0.6 * Math.min(...ends.map((end) => Math.abs(end - middle))) : Math.max(...values.map((v) => Math.abs(v - middle))) || 1;
  return { middle, reach };
}
function heatText(section, metric, what, rows, link) {
  const above = metric.poles ? `: above ${metric.ideal} the ${metric.poles[1]} is preferred` : "";
  const sizes = rows.flatMap((row) => row.cells.map((c) => c.n)).filter((n) => n > 0).sort((a, b) => a - b);
  if (!sizes.length) return `${metric.title} of each ${what}${above}.`;
  const usual = sizes[Math.floor(sizes.length / 2)];
  // A mean of numbers between two ends has a standard error of at most half their distance by the root of n.
  const about = metric.middle && known(metric.low) && known(metric.high)
    ? `; with ${usual}, one model's cell is uncertain by about ±${fixed((0.98 * (metric.high - metric.low)) / Math.sqrt(usual), metric.digits - 2)}${metric.unit === "%" ? " points" : ""}` : "";
  const sizeText = sizes[0] === sizes[sizes.length - 1] ? `${sizes[0]}` : `${sizes[0]} to ${sizes[sizes.length - 1]}`;
  return `${metric.title} of each ${what}${above}. A ${what} has ${sizeText} examples here${about}.${link ? ` Choose one to see its examples.` : ""}`;
}
function heatCell(metric, scale, row, { value, n }, where) {
  if (!known(value)) return el("td", { class: "num" }, "–");
  const t = Math.min(1, Math.abs(value - scale.middle) / scale.reach);
  const text = `${row.item.name}, ${where}: ${metric.title} ${fixed(value, metric.digits - 1)}${n ? `, ${plural(n, "example")}` : ""}`;
  return el("td", { class: value >= scale.middle ? "hot" : "cold", css: { "--t": t.toFixed(3) }, title: text }, fixed(value, metric.digits - 2));
}
