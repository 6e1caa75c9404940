// Models x languages: a list that sorts by anything, or one metric as a matrix.
const overview = { view: "list", metrics: "main", metric: "icat", group: "overall" };

function bestOf(runs, metric, group) {
  // LMS and ICAT: highest; SS: nearest to 50.
  let best = null;
  for (const run of runs) {
    const [value] = metricOf(run, metric, group);
    if (!known(value)) continue;
    const merit = metric.endsWith("ss") ? -distance(value) : value;
    if (best === null || merit > best) best = merit;
  }
  return (run) => {
    const [value] = metricOf(run, metric, group);
    return best !== null && known(value) && (metric.endsWith("ss") ? -distance(value) : value) === best;
  };
}
function drawOverview() {
  const body = clear(byId("overview-body"));
  const set = (key) => (value) => { overview[key] = value; drawOverview(); };
  const hasMulti = data.runs.some((run) => known(metricOf(run, "mc_ss")[0]));
  body.append(el("div", { class: "controls" },
    choice("View", [["list", "list"], ["matrix", "models × languages"]], overview.view, set("view")),
    overview.view === "matrix"
      ? choice("Metric", [...MAIN, ...(hasMulti ? MULTI : [])].map((m) => [m, METRIC_NAMES[m]]), overview.metric, set("metric"))
      : hasMulti && choice("Metrics", [["main", "global"], ["multi", "multi-class"]], overview.metrics, set("metrics")),
    choice("Examples about", data.groups.map((g) => [g, g === "overall" ? "all bias types" : g]), overview.group, set("group"))));
  const runs = data.runs.filter((run) => known(metricOf(run, "ss", overview.group)[0]));
  if (!runs.length) body.append(note(`No result has numbers for this selection (${state.split}, ${overview.group}).`));
  else body.append(overview.view === "list" ? overviewList(runs) : overviewMatrix(runs));
}
function overviewList(runs) {
  const group = overview.group;
  const metrics = overview.metrics === "main" || group !== "overall" ? MAIN : MULTI;
  const manyLanguages = new Map();
  for (const metric of metrics) {
    for (const language of new Set(runs.map((run) => run.language))) {
      const rivals = runs.filter((run) => run.language === language);
      if (rivals.length > 1) manyLanguages.set(`${metric} ${language}`, bestOf(rivals, metric, group));
    }
  }
  const columns = [
    { label: "Model", value: (run) => data.models[run.model], cell: (run) => modelName(run.model) },
    { label: "Language", value: (run) => data.languages[run.language].name },
    ...metrics.map((metric) => ({
      label: METRIC_NAMES[metric], num: true, descending: true,
      value: (run) => metricOf(run, metric, group)[0],
      cell: (run) => valueCell(metricOf(run, metric, group)),
      best: (run) => manyLanguages.get(`${metric} ${run.language}`)?.(run),
    })),
    { label: "|SS − 50|", num: true, title: "Distance from the unbiased value", value: (run) => distance(metricOf(run, "ss", group)[0]),
      cell: (run) => fixed(distance(metricOf(run, "ss", group)[0])) },
    { label: "p (SS = 50)", num: true, title: "Two-sided test of SS = 50, clustered by target term, not corrected",
      value: (run) => valuesOf(run, group)?.ss_p50, cell: (run) => pText(valuesOf(run, group)?.ss_p50) },
    { label: "Ties", num: true, title: "Examples in which stereotype and anti-stereotype have the very same score",
      value: (run) => valuesOf(run, group)?.ties, cell: (run) => (known(valuesOf(run, group)?.ties) ? fixed(valuesOf(run, group).ties, 2) + " %" : "–") },
    { label: "Examples", num: true, value: (run) => valuesOf(run, group)?.n,
      cell: (run) => (known(valuesOf(run, group)?.n) ? valuesOf(run, group).n.toLocaleString("en") : "–") },
  ];
  const about = group === "overall" ? "all bias types" : group;
  return sortable({
    caption: `Scores in per cent, split ${state.split}, ${about}. ★ best of its language: highest LMS and ICAT, SS nearest to 50.`,
    label: "Overview table", columns, rows: runs, className: "overview",
  });
}
function overviewMatrix(runs) {
  const { metric, group } = overview;
  const rows = data.models.map((_, model) => ({ model })).filter((row) => runs.some((run) => run.model === row.model));
  const find = (row, language) => runs.find((run) => run.model === row.model && run.language === language);
  const columns = [{ label: "Model", value: (row) => data.models[row.model], cell: (row) => modelName(row.model) }];
  data.languages.forEach((language, l) => {
    const rivals = runs.filter((run) => run.language === l);
    const best = bestOf(rivals, metric, group);
    columns.push({
      label: language.name, num: true, descending: true,
      value: (row) => (find(row, l) ? metricOf(find(row, l), metric, group)[0] : null),
      cell: (row) => (find(row, l) ? valueCell(metricOf(find(row, l), metric, group)) : el("span", { class: "soft" }, "–")),
      best: (row) => rivals.length > 1 && find(row, l) && best(find(row, l)),
    });
  });
  return sortable({ caption: `${METRIC_NAMES[metric]}, split ${state.split}. ★ best of its column.`, label: "Overview matrix", columns, rows, className: "overview" });
}
