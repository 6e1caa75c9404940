// Models x languages: a list that sorts by anything, or one metric as a matrix.
function bestOf(section, runs, metric, group) {
  const meritOf = (run) => merit(metric, metricOf(section, run, metric.name, group)[0]);
  const found = runs.map(meritOf).filter(known);
  const best = Math.max(...found);
  return (run) => metric.ideal !== null && meritOf(run) === best;
}
function drawOverview(section) {
  const { data, main, more } = section;
  const body = clear(section.part("overview-body"));
  const chosen = choicesOf(section, "overview", { view: "list", metrics: "main", metric: data.rankedBy, group: "overall" });
  const set = (key) => (value) => { chosen[key] = value; drawOverview(section); };
  const hasMore = data.runs.some((run) => hasAny(section, run, more));
  const metrics = [...main, ...(hasMore ? more : [])];
  body.append(el("div", { class: "controls" },
    choice("View", [["list", "list"], ["matrix", "models × languages"]], chosen.view, set("view")),
    chosen.view === "matrix"
      ? metrics.length > 1 && choice("Metric", metrics.map((m) => [m.name, m.title]), chosen.metric, set("metric"))
      : hasMore && choice("Metrics", [["main", main.map((m) => m.title).join(", ")], ["more", more.map((m) => m.title).join(", ")]], chosen.metrics, set("metrics")),
    data.groups.length > 2 && choice("Examples about", data.groups.map((g) => [g, groupText(section, g)]), chosen.group, set("group"))));
  const wanted = chosen.view === "matrix" ? [section.metrics.get(chosen.metric)] : chosen.metrics === "main" || chosen.group !== "overall" ? main : more;
  const runs = data.runs.filter((run) => hasAny(section, run, wanted, chosen.group));
  if (!runs.length) body.append(note(`No result has numbers for this selection (${splitText(section)}, ${groupText(section, chosen.group)}).`));
  else body.append(chosen.view === "list" ? overviewList(section, runs, wanted, chosen.group) : overviewMatrix(section, runs, wanted[0], chosen.group));
}
function overviewList(section, runs, metrics, group) {
  const rivals = new Map();
  for (const metric of metrics) {
    for (const language of new Set(runs.map((run) => run.language))) {
      const others = runs.filter((run) => run.language === language);
      if (others.length > 1) rivals.set(`${metric.name} ${language}`, bestOf(section, others, metric, group));
    }
  }
  const valueOf = (metric) => (run) => metricOf(section, run, metric.name, group)[0];
  const tested = metrics.filter((metric) => metric.test);
  const shares = metrics === section.main ? section.shares.slice(0, 1) : section.shares; // all would make a wide table
  const columns = [
    { label: "Model", value: (run) => report.models[run.model], cell: (run) => modelName(run.model) },
    { label: "Language", value: (run) => report.languages[run.language].name },
    ...metrics.map((metric) => ({
      label: metric.title, num: true, descending: metric.ideal === null || metric.ideal === metric.high || metric.middle,
      value: valueOf(metric), cell: (run) => valueCell(metric, metricOf(section, run, metric.name, group)),
      best: (run) => rivals.get(`${metric.name} ${run.language}`)?.(run),
    })),
    ...tested.flatMap((metric) => [
      { label: `|${metric.title} − ${metric.ideal}|`, num: true, title: "Distance from the ideal value",
        value: (run) => distance(metric, valueOf(metric)(run)), cell: (run) => shown(metric, distance(metric, valueOf(metric)(run))) },
      { label: `p (${metric.title} = ${metric.ideal})`, num: true, title: `Two-sided test of ${metric.title} = ${metric.ideal}, clustered by ${section.data.clusterName}, not corrected`,
        value: (run) => valuesOf(section, run, group)?.[metric.test], cell: (run) => pText(valuesOf(section, run, group)?.[metric.test]) },
    ]),
    ...shares.map((metric) => ({
      label: metric.title.includes("_") ? metric.title : capital(metric.title), num: true, value: valueOf(metric),
      cell: (run) => shown(metric, valueOf(metric)(run)) + (known(valueOf(metric)(run)) && metric.unit ? ` ${metric.unit}` : ""),
    })),
    { label: "Examples", num: true, value: (run) => valuesOf(section, run, group)?.n,
      cell: (run) => (known(valuesOf(section, run, group)?.n) ? valuesOf(section, run, group).n.toLocaleString("en") : "–") },
  ];
  const unit = metrics.every((metric) => metric.unit === "%") ? "Scores in per cent" : "Scores";
  const judged = metrics.filter((metric) => metric.ideal !== null).map((metric) => `${metric.title}: ${bestIs(metric)}`);
  const about = group === "overall" ? "" : `, ${group}`;
  return sortable({
    caption: `${unit}, ${splitText(section)}${about}.${judged.length ? ` ★ best of its language (${judged.join("; ")}).` : ""}`,
    label: "Overview table", columns, rows: runs, className: "overview",
  });
}
function overviewMatrix(section, runs, metric, group) {
  const rows = report.models.map((_, model) => ({ model })).filter((row) => runs.some((run) => run.model === row.model));
  const find = (row, l) => runs.find((run) => run.model === row.model && run.language === l);
  const numbers = (run) => metricOf(section, run, metric.name, group);
  const columns = [{ label: "Model", value: (row) => report.models[row.model], cell: (row) => modelName(row.model) }];
  for (const { name, l } of section.languages) {
    const rivals = runs.filter((run) => run.language === l);
    const best = bestOf(section, rivals, metric, group);
    columns.push({
      label: name, num: true, descending: true,
      value: (row) => (find(row, l) ? numbers(find(row, l))[0] : null),
      cell: (row) => (find(row, l) ? valueCell(metric, numbers(find(row, l))) : el("span", { class: "soft" }, "–")),
      best: (row) => rivals.length > 1 && find(row, l) && best(find(row, l)),
    });
  }
  return sortable({ caption: `${withUnit(metric)}, ${splitText(section)}. ★ best of its column.`, label: "Overview matrix", columns, rows, className: "overview" });
}
