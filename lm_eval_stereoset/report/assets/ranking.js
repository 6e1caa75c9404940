// Models in order, with intervals; a matrix of the pairs that differ; all comparisons as a table.
function drawRanking(section) {
  const { data, main } = section;
  const body = clear(section.part("ranking-body"));
  const chosen = choicesOf(section, "ranking", { metric: data.rankedBy, language: null });
  const metric = section.metrics.get(chosen.metric);
  const present = section.languages.map((language) => ({ language, l: language.l, runs: data.runs.filter((run) => run.language === language.l && has(section, run, metric.name)) })).filter((p) => p.runs.length);
  const set = (key) => (value) => { chosen[key] = value; drawRanking(section); };
  const order = choice("Order", main.map((m) => [m.name, `${m.title}, ${bestIs(m)} first`]), chosen.metric, set("metric"));
  if (!present.length) {
    body.append(el("div", { class: "controls" }, main.length > 1 && order), note(`Nothing to rank: no result has ${metric.title} (${splitText(section)}).`));
    return;
  }
  if (chosen.language === null || !present.some((p) => p.l === Number(chosen.language))) {
    chosen.language = present.reduce((a, b) => (b.runs.length > a.runs.length ? b : a)).l;
  }
  body.append(el("div", { class: "controls" },
    choice("Language", present.map((p) => [p.l, p.language.name]), chosen.language, set("language")), main.length > 1 && order));
  const { runs, language } = present.find((p) => p.l === Number(chosen.language));
  const meritOf = (run) => merit(metric, metricOf(section, run, metric.name)[0]);
  const sorted = [...runs].sort((a, b) => meritOf(b) - meritOf(a));
  body.append(figure(rankPicture(section, sorted, metric, room(body)), `${metric.title} in ${language.name}, ${splitText(section)}, with 95 % intervals; ${bestIs(metric)} first. ` +
    "Whether two models differ is decided by the paired test below, not by whether their intervals overlap."));
  body.append(el("h4", {}, `Pairs of models in ${language.name}`), pairMatrix(section, sorted, metric), comparisonTable(section, metric));
}
function rankPicture(section, order, metric, full) {
  const width = Math.min(full, 900), step = 30;
  const longest = Math.max(...order.map((run) => textWidth(report.models[run.model])));
  const left = Math.min(longest + 40, width * 0.45);
  const axis = axisOf(metric, order.flatMap((run) => metricOf(section, run, metric.name).filter(known)));
  const X = (v) => left + ((v - axis.low) / (axis.high - axis.low)) * (width - left - 60);
  const height = order.length * step + 34;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Ranking by ${metric.title}` });
  for (const v of axis.ticks) picture.append(svg("line", { class: "grid", x1: X(v), x2: X(v), y1: 2, y2: height - 26 }),
    svg("text", { class: "soft", x: X(v), y: height - 10, "text-anchor": "middle" }, axis.text(v)));
  if (metric.middle) picture.append(svg("line", { class: "zero", x1: X(metric.ideal), x2: X(metric.ideal), y1: 2, y2: height - 26 }));
  order.forEach((run, i) => {
    const [value, low, high] = metricOf(section, run, metric.name);
    const y = i * step + step / 2 + 2;
    const label = `${i + 1}. ${runLabel(run)}: ${metric.title} ${shown(metric, value)}, 95 % interval ${shownRange(metric, low, high)}`;
    picture.append(svg("g", { class: "mark", role: "img", "aria-label": label }, svg("title", {}, label),
      svg("text", { x: 18, y: y + 4, "text-anchor": "end", class: "soft" }, i + 1),
      svg("text", { x: left - 12, y: y + 4, "text-anchor": "end" }, fit(report.models[run.model], left - 38)),
      known(low) && svg("line", { x1: X(low), x2: X(high), y1: y, y2: y, css: { stroke: colour(run.model), "stroke-width": "3", "stroke-linecap": "round", "stroke-opacity": ".6" } }),
      marker(run.model, X(value), y, 6),
      svg("text", { x: width, y: y + 4, "text-anchor": "end" }, shown(metric, value))));
  });
  return picture;
}
const inUnits = (metric) => (metric.unit === "%" ? " in points" : "");
function pairMatrix(section, order, metric) {
  const { data } = section, { name, digits } = metric;
  const indices = order.map((run) => data.runs.indexOf(run));
  const all = data.comparisons.filter((c) => c.split === section.split);
  const find = (a, b) => all.find((c) => (c.a === a && c.b === b) || (c.a === b && c.b === a));
  const tested = [];
  for (let i = 0; i < indices.length; i++) for (let j = i + 1; j < indices.length; j++) {
    const c = find(indices[i], indices[j]);
    if (c && known(c[name].p)) tested.push(c);
  }
  if (order.length < 2) return note("Only one model in this language: nothing to compare it with.");
  if (!tested.length) return note("No paired tests: they need the answers to single examples of both models (run with --log_samples, or give prediction files).");
  const significant = tested.filter((c) => c[name].adjusted < 0.05).length;
  const detectable = tested.map((c) => c[name].detectable).filter(known).sort((a, b) => a - b);
  const middle = detectable[Math.floor(detectable.length / 2)];
  const head = el("tr", {}, el("th", { scope: "col" }, "Row minus column"), order.slice(1).map((run) => el("th", { scope: "col" }, modelName(run.model))));
  const rows = order.slice(0, -1).map((run, i) => el("tr", {}, el("th", { scope: "row" }, modelName(run.model)),
    order.slice(1).map((other, k) => {
      const j = k + 1;
      if (j <= i) return el("td", {});
      const c = find(indices[i], indices[j]);
      if (!c || !known(c[name].value)) return el("td", { class: "none" }, "–");
      const d = c[name], sign = c.a === indices[i] ? 1 : -1;
      const sig = d.adjusted < 0.05;
      return el("td", { class: sig ? "sig" : "none", title: `adjusted p ${pText(d.adjusted)}, p ${pText(d.p)}, ${plural(c.n, "example")}` },
        `${signed(sign * d.value, digits)}${sig ? " *" : ""}`, el("span", { class: "hidden" }, sig ? "significant" : "not significant"));
    })));
  return el("div", {},
    el("p", {}, `${significant} of ${plural(tested.length, "pair")} differ significantly in ${metric.title} (* adjusted p < 0.05, corrected for all ${tested[0].family} comparisons of this split). `,
      known(middle) && `The smallest difference that this data would detect is typically ${fixed(middle, digits - 1)}${metric.unit === "%" ? " points" : ""} for a single comparison.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix of differences between models" },
      el("table", { class: "matrix" }, el("caption", {}, `Differences of ${metric.title}${inUnits(metric)}; models in the order of the ranking.`), el("thead", {}, head), el("tbody", {}, rows))));
}
function comparisonTable(section, metric) {
  const { data } = section, { name, digits } = metric;
  const rows = data.comparisons.filter((c) => c.split === section.split);
  const part = el("div", {}, el("h4", {}, "All comparisons"));
  if (!rows.length) {
    part.append(note(data.runs.length < 2 ? "One result only: there is nothing to compare it with."
      : `No comparisons (${splitText(section)}): they need two models in one language or one model in two languages, both with samples of the same examples.`));
    return part;
  }
  const about = (c) => (c.kind === "models" ? report.languages[data.runs[c.a].language].name : report.models[data.runs[c.a].model]);
  const side = (c, key) => { const run = data.runs[c[key]]; return c.kind === "models" ? report.models[run.model] : report.languages[run.language].name; };
  const columns = [
    { label: "Within", value: about, cell: (c) => el("span", { dir: "auto" }, about(c)) },
    { label: "First", value: (c) => side(c, "a"), cell: (c) => (c.kind === "models" ? modelName(data.runs[c.a].model) : side(c, "a")) },
    { label: "Second", value: (c) => side(c, "b"), cell: (c) => (c.kind === "models" ? modelName(data.runs[c.b].model) : side(c, "b")) },
    { label: "Difference", num: true, descending: true, title: `First minus second${inUnits(metric)}, with 95 % interval`, value: (c) => c[name].value,
      cell: (c) => [el("span", { class: "value" }, signed(c[name].value, digits)), el("span", { class: "interval" }, shownRange(metric, c[name].low, c[name].high))] },
    { label: "Corrected interval", num: true, title: "Wide enough for all comparisons of the split together", value: (c) => c[name].lowAll, cell: (c) => shownRange(metric, c[name].lowAll, c[name].highAll) },
    { label: "p", num: true, value: (c) => c[name].p, cell: (c) => pText(c[name].p) },
    { label: "Adjusted p", num: true, title: "Holm's correction", value: (c) => c[name].adjusted, cell: (c) => pText(c[name].adjusted) + (c[name].adjusted < 0.05 ? " *" : "") },
    { label: "Detectable", num: true, title: "Smallest true difference found with probability 0.8, single comparison", value: (c) => c[name].detectable, cell: (c) => fixed(c[name].detectable, digits - 1) },
    { label: "Examples", num: true, value: (c) => c.n, cell: (c) => c.n.toLocaleString("en") },
  ];
  part.append(sortable({ caption: `Paired differences of ${metric.title}, ${splitText(section)}: two models in a language, or two languages of a model. Green and *: significant after correction.`,
    label: "Table of all comparisons", columns, rows, className: "dense", tall: rows.length > 12, sort: { column: 6, descending: false }, rowClass: (c) => (c[name].adjusted < 0.05 ? "sig" : null) }));
  return part;
}
