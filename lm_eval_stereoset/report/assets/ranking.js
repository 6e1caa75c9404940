// Models in order, with intervals; a matrix of the pairs that differ; all comparisons as a table.
const ranking = { metric: "icat", language: null };
const MERIT = { icat: "ICAT, highest first", lms: "LMS, highest first", ss: "SS, nearest to 50 first" };

function drawRanking() {
  const body = clear(byId("ranking-body"));
  const present = data.languages.map((language, l) => ({ language, l, runs: data.runs.filter((run) => run.language === l && has(run)) })).filter((p) => p.runs.length);
  if (!present.length) {
    body.append(note(`Nothing to rank: no result has scores for the split ${state.split}.`));
    return;
  }
  if (!present.some((p) => p.l === Number(ranking.language)) || ranking.language === null) {
    ranking.language = present.reduce((a, b) => (b.runs.length > a.runs.length ? b : a)).l;
  }
  const set = (key) => (value) => { ranking[key] = value; drawRanking(); };
  body.append(el("div", { class: "controls" },
    choice("Language", present.map((p) => [p.l, p.language.name]), ranking.language, set("language")),
    choice("Order", Object.entries(MERIT), ranking.metric, set("metric"))));
  const { runs, language } = present.find((p) => p.l === Number(ranking.language));
  const merit = (run) => (ranking.metric === "ss" ? -distance(metricOf(run, "ss")[0]) : metricOf(run, ranking.metric)[0]);
  const order = [...runs].sort((a, b) => merit(b) - merit(a));
  body.append(figure(rankPicture(order, room(body)), `${METRIC_NAMES[ranking.metric]} in ${language.name}, split ${state.split}, with 95 % intervals. ` +
    "Whether two models differ is decided by the paired test below, not by whether their intervals overlap."));
  body.append(el("h3", {}, `Pairs of models in ${language.name}`), pairMatrix(order), comparisonTable());
}
function rankPicture(order, full) {
  const width = Math.min(full, 900), step = 30;
  const longest = Math.max(...order.map((run) => textWidth(data.models[run.model])));
  const left = Math.min(longest + 40, width * 0.45);
  const ends = order.flatMap((run) => metricOf(run, ranking.metric).filter(known));
  if (ranking.metric === "ss") ends.push(50);
  const unit = Math.max(...ends) - Math.min(...ends) > 40 ? 10 : 5;
  const x0 = Math.max(0, Math.floor((Math.min(...ends) - 1) / unit) * unit), x1 = Math.min(100, Math.ceil((Math.max(...ends) + 1) / unit) * unit);
  const X = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - 60);
  const height = order.length * step + 34;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Ranking by ${METRIC_NAMES[ranking.metric]}` });
  for (let v = x0; v <= x1; v += unit) picture.append(svg("line", { class: "grid", x1: X(v), x2: X(v), y1: 2, y2: height - 26 }),
    svg("text", { class: "soft", x: X(v), y: height - 10, "text-anchor": "middle" }, v));
  if (ranking.metric === "ss") picture.append(svg("line", { class: "zero", x1: X(50), x2: X(50), y1: 2, y2: height - 26 }));
  order.forEach((run, i) => {
    const [value, low, high] = metricOf(run, ranking.metric);
    const y = i * step + step / 2 + 2;
    const label = `${i + 1}. ${runLabel(run)}: ${METRIC_NAMES[ranking.metric]} ${fixed(value)}, 95 % interval ${range(low, high)}`;
    picture.append(svg("g", { class: "mark", role: "img", "aria-label": label }, svg("title", {}, label),
      svg("text", { x: 18, y: y + 4, "text-anchor": "end", class: "soft" }, i + 1),
      svg("text", { x: left - 12, y: y + 4, "text-anchor": "end" }, fit(data.models[run.model], left - 38)),
      known(low) && svg("line", { x1: X(low), x2: X(high), y1: y, y2: y, css: { stroke: colour(run.model), "stroke-width": "3", "stroke-linecap": "round", "stroke-opacity": ".6" } }),
      marker(run.model, X(value), y, 6),
      svg("text", { x: width, y: y + 4, "text-anchor": "end" }, fixed(value))));
  });
  return picture;
}
function pairMatrix(order) {
  const indices = order.map((run) => data.runs.indexOf(run));
  const all = data.comparisons.filter((c) => c.split === state.split);
  const find = (a, b) => all.find((c) => (c.a === a && c.b === b) || (c.a === b && c.b === a));
  const metric = ranking.metric;
  const tested = [];
  for (let i = 0; i < indices.length; i++) for (let j = i + 1; j < indices.length; j++) {
    const c = find(indices[i], indices[j]);
    if (c && known(c[metric].p)) tested.push(c);
  }
  if (order.length < 2) return note("Only one model in this language: nothing to compare it with.");
  if (!tested.length) return note("No paired tests: they need the answers to single examples of both models (run with --log_samples, or give prediction files).");
  const significant = tested.filter((c) => c[metric].adjusted < 0.05).length;
  const detectable = tested.map((c) => c[metric].detectable).filter(known).sort((a, b) => a - b);
  const middle = detectable[Math.floor(detectable.length / 2)];
  const head = el("tr", {}, el("th", { scope: "col" }, "Row minus column"), order.slice(1).map((run) => el("th", { scope: "col" }, modelName(run.model))));
  const rows = order.slice(0, -1).map((run, i) => el("tr", {}, el("th", { scope: "row" }, modelName(run.model)),
    order.slice(1).map((other, k) => {
      const j = k + 1;
      if (j <= i) return el("td", {});
      const c = find(indices[i], indices[j]);
      if (!c || !known(c[metric].value)) return el("td", { class: "none" }, "–");
      const d = c[metric], sign = c.a === indices[i] ? 1 : -1;
      const sig = d.adjusted < 0.05;
      return el("td", { class: sig ? "sig" : "none", title: `adjusted p ${pText(d.adjusted)}, p ${pText(d.p)}, ${plural(c.n, "example")}` },
        `${signed(sign * d.value)}${sig ? " *" : ""}`, el("span", { class: "hidden" }, sig ? "significant" : "not significant"));
    })));
  return el("div", {},
    el("p", {}, `${significant} of ${plural(tested.length, "pair")} differ significantly in ${METRIC_NAMES[metric]} (* adjusted p < 0.05, corrected for all ${tested[0].family} comparisons of this split). `,
      known(middle) && `The smallest difference that this data would detect is typically ${fixed(middle, 1)} points for a single comparison.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix of differences between models" },
      el("table", { class: "matrix" }, el("caption", {}, `Differences of ${METRIC_NAMES[metric]} in points; models in the order of the ranking.`), el("thead", {}, head), el("tbody", {}, rows))));
}
function comparisonTable() {
  const metric = ranking.metric;
  const rows = data.comparisons.filter((c) => c.split === state.split);
  const part = el("div", {}, el("h3", {}, "All comparisons"));
  if (!rows.length) {
    part.append(note(data.runs.length < 2 ? "One result only: there is nothing to compare it with."
      : `No comparisons for the split ${state.split}: they need two models in one language or one model in two languages, both with samples.`));
    return part;
  }
  const about = (c) => (c.kind === "models" ? data.languages[data.runs[c.a].language].name : data.models[data.runs[c.a].model]);
  const side = (c, key) => { const run = data.runs[c[key]]; return c.kind === "models" ? data.models[run.model] : data.languages[run.language].name; };
  const columns = [
    { label: "Within", value: about, cell: (c) => el("span", { dir: "auto" }, about(c)) },
    { label: "First", value: (c) => side(c, "a"), cell: (c) => (c.kind === "models" ? modelName(data.runs[c.a].model) : side(c, "a")) },
    { label: "Second", value: (c) => side(c, "b"), cell: (c) => (c.kind === "models" ? modelName(data.runs[c.b].model) : side(c, "b")) },
    { label: "Difference", num: true, descending: true, title: "First minus second, points, with 95 % interval", value: (c) => c[metric].value,
      cell: (c) => [el("span", { class: "value" }, signed(c[metric].value)), el("span", { class: "interval" }, range(c[metric].low, c[metric].high))] },
    { label: "Corrected interval", num: true, title: "Wide enough for all comparisons of the split together", value: (c) => c[metric].lowAll, cell: (c) => range(c[metric].lowAll, c[metric].highAll) },
    { label: "p", num: true, value: (c) => c[metric].p, cell: (c) => pText(c[metric].p) },
    { label: "Adjusted p", num: true, title: "Holm's correction", value: (c) => c[metric].adjusted, cell: (c) => pText(c[metric].adjusted) + (c[metric].adjusted < 0.05 ? " *" : "") },
    { label: "Detectable", num: true, title: "Smallest true difference found with probability 0.8, single comparison", value: (c) => c[metric].detectable, cell: (c) => fixed(c[metric].detectable, 1) },
    { label: "Examples", num: true, value: (c) => c.n, cell: (c) => c.n.toLocaleString("en") },
  ];
  part.append(sortable({ caption: `Paired differences of ${METRIC_NAMES[metric]}, split ${state.split}: two models in a language, or two languages of a model. Green and *: significant after correction.`,
    label: "Table of all comparisons", columns, rows, className: "dense", tall: rows.length > 12, sort: { column: 6, descending: false }, rowClass: (c) => (c[metric].adjusted < 0.05 ? "sig" : null) }));
  return part;
}
