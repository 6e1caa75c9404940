// A metric per group with its interval, such as SS per bias type: one panel per language, models named beside their marks.
function drawGroups(section) {
  const body = section.part("groups-body");
  if (!body) return;
  clear(body);
  const { data } = section, { groups } = data;
  const chosen = choicesOf(section, "groups", { metric: data.heatMetrics[0] });
  const metrics = data.heatMetrics.map((name) => section.metrics.get(name));
  const metric = section.metrics.get(chosen.metric);
  if (metrics.length > 1) body.append(el("div", { class: "controls" },
    choice("Metric", metrics.map((m) => [m.name, m.title]), chosen.metric, (value) => { chosen.metric = value; drawGroups(section); })));
  const runs = data.runs.filter((run) => has(section, run, metric.name) && groups.slice(1).some((g) => has(section, run, metric.name, g)));
  if (!runs.length) {
    body.append(note(`Nothing to plot: no result has ${metric.title} per ${data.groupName} (${splitText(section)}).`));
    return;
  }
  const axis = axisOf(metric, runs.flatMap((run) => groups.flatMap((g) => metricOf(section, run, metric.name, g).filter(known))));
  const grid = body.appendChild(el("div", { class: "panels" }));
  // The width is known only after the grid is laid out.
  const languages = section.languages.map((language) => ({ language, runs: runs.filter((run) => run.language === language.l) })).filter((p) => p.runs.length);
  const cells = languages.map((p) => grid.appendChild(el("div", {}, el("h4", {}, p.language.name))));
  const width = Math.max(280, Math.min(cells[0].clientWidth || 520, 720));
  const longest = Math.max(...runs.map((run) => textWidth(report.models[run.model])));
  const left = Math.min(longest + 14, width * 0.42); // the same in all panels, so that their axes line up
  languages.forEach((p, i) => cells[i].append(groupPanel(section, p.language.name, p.runs, metric, axis, left, width)));
  const ideal = metric.middle ? ` The dashed line is ${metric.ideal}, the ideal.` : "";
  const sides = metric.poles ? ` Right of it the ${metric.poles[1]} is preferred, left of it the ${metric.poles[0]}.` : "";
  body.append(el("p", { class: "small soft" }, `${capital(splitText(section))}. Dots are ${metric.title}, bars 95 % intervals clustered by ${data.clusterName}.${ideal}${sides}${fewClusters(section)}`));
}
// An interval from a handful of clusters is a guess, and looks as exact as any other.
function fewClusters({ data }) {
  const few = data.groups.slice(1).map((g) => [g, data.clusters.filter((c) => c.group === g).length]).filter(([, n]) => n > 0 && n < 8);
  return few.map(([g, n]) => ` ${capital(g)} has only ${plural(n, data.clusterName)}: do not rely on its intervals.`).join("");
}
function groupPanel(section, name, runs, metric, axis, left, width) {
  const step = 17, gap = 12;
  const blocks = section.data.groups.map((g) => ({ g, runs: runs.filter((run) => has(section, run, metric.name, g)) })).filter((b) => b.runs.length);
  const height = 26 + blocks.reduce((sum, b) => sum + 18 + b.runs.length * step + gap, 0) + 18;
  const X = (x) => left + ((Math.min(Math.max(x, axis.low), axis.high) - axis.low) / (axis.high - axis.low)) * (width - left - 46);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `${metric.title} per ${section.data.groupName}, ${name}` });
  const bottom = height - 26;
  for (const x of axis.ticks) {
    picture.append(svg("line", { class: "grid", x1: X(x), x2: X(x), y1: 4, y2: bottom }),
      svg("text", { class: "soft", x: X(x), y: bottom + 16, "text-anchor": "middle" }, axis.text(x)));
  }
  if (metric.middle) picture.append(svg("line", { class: "zero", x1: X(metric.ideal), x2: X(metric.ideal), y1: 4, y2: bottom }));
  let y = 4;
  for (const block of blocks) {
    y += 14;
    picture.append(svg("text", { class: "strong halo", x: 0, y }, block.g === "overall" ? "all" : fit(block.g, width - 10)));
    y += 4;
    for (const run of block.runs) {
      const [value, low, high] = metricOf(section, run, metric.name, block.g);
      const mid = y + step / 2;
      const label = `${runLabel(run)}, ${block.g}: ${metric.title} ${shown(metric, value)}, 95 % interval ${shownRange(metric, low, high)}`;
      picture.append(svg("g", { class: "mark", role: "img", "aria-label": label },
        svg("title", {}, label),
        svg("text", { class: "soft", x: left - 10, y: mid + 4, "text-anchor": "end" }, fit(report.models[run.model], left - 12)),
        known(low) && svg("line", { x1: X(low), x2: X(high), y1: mid, y2: mid, css: { stroke: colour(run.model), "stroke-width": "2.5", "stroke-linecap": "round", "stroke-opacity": ".65" } }),
        marker(run.model, X(value), mid, 4.5),
        svg("text", { class: "soft", x: width, y: mid + 4, "text-anchor": "end" }, fixed(value, metric.digits - 1))));
      y += step;
    }
    y += gap;
  }
  return picture;
}
