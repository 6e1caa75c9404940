// SS per bias type with its interval, one panel a language, models named beside their marks.
function drawBiasTypes() {
  const body = clear(byId("biastypes-body"));
  const groups = data.groups;
  const runs = data.runs.filter((run) => has(run) && groups.slice(1).some((g) => known(metricOf(run, "ss", g)[0])));
  if (!runs.length) {
    body.append(note(`Nothing to plot: no result has scores per bias type for the split ${state.split}.`));
    return;
  }
  const ends = runs.flatMap((run) => groups.flatMap((g) => metricOf(run, "ss", g).filter(known)));
  const x0 = Math.max(0, Math.min(40, Math.floor(Math.min(...ends) / 10) * 10));
  const x1 = Math.min(100, Math.max(70, Math.ceil(Math.max(...ends) / 10) * 10));
  const panels = el("div", { class: "panels" });
  body.append(panels);
  // The width is known only after the grid is laid out.
  const languages = data.languages.map((language, l) => ({ language, runs: runs.filter((run) => run.language === l) })).filter((p) => p.runs.length);
  const cells = languages.map((p) => panels.appendChild(el("div", {}, el("h3", {}, p.language.name))));
  const width = Math.max(280, Math.min(cells[0].clientWidth || 520, 720));
  const longest = Math.max(...runs.map((run) => textWidth(data.models[run.model])));
  const left = Math.min(longest + 14, width * 0.42); // the same in all panels, so that their axes line up
  languages.forEach((p, i) => cells[i].append(biasPanel(p.language.name, p.runs, groups, x0, x1, left, width)));
  body.append(el("p", { class: "small soft" }, `Split ${state.split}. Dots are SS, bars 95 % intervals clustered by target term; the dashed line is 50, no preference. ` +
    "Right of it the stereotype is preferred, left of it the anti-stereotype." + fewTerms()));
}
// An interval from a handful of clusters is a guess, and looks as exact as any other.
function fewTerms() {
  const few = data.groups.slice(1).map((g) => [g, data.targets.filter((t) => t.type === g).length]).filter(([, n]) => n > 0 && n < 8);
  return few.map(([g, n]) => ` ${g[0].toUpperCase()}${g.slice(1)} has only ${plural(n, "target term")}: do not rely on its intervals.`).join("");
}
function biasPanel(name, runs, groups, x0, x1, left, width) {
  const step = 17, gap = 12;
  const shown = groups.filter((g) => runs.some((run) => known(metricOf(run, "ss", g)[0])));
  const blocks = shown.map((g) => ({ g, runs: runs.filter((run) => known(metricOf(run, "ss", g)[0])) }));
  const height = 26 + blocks.reduce((sum, b) => sum + 18 + b.runs.length * step + gap, 0) + 18;
  const X = (ss) => left + ((Math.min(Math.max(ss, x0), x1) - x0) / (x1 - x0)) * (width - left - 46);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `SS per bias type, ${name}` });
  const bottom = height - 26;
  for (let ss = x0; ss <= x1; ss += 10) {
    picture.append(svg("line", { class: "grid", x1: X(ss), x2: X(ss), y1: 4, y2: bottom }),
      svg("text", { class: "soft", x: X(ss), y: bottom + 16, "text-anchor": "middle" }, ss));
  }
  picture.append(svg("line", { class: "zero", x1: X(50), x2: X(50), y1: 4, y2: bottom }));
  let y = 4;
  for (const block of blocks) {
    y += 14;
    picture.append(svg("text", { class: "strong halo", x: 0, y }, block.g === "overall" ? "all" : block.g));
    y += 4;
    for (const run of block.runs) {
      const [ss, low, high] = metricOf(run, "ss", block.g);
      const mid = y + step / 2;
      const label = `${runLabel(run)}, ${block.g}: SS ${fixed(ss)}, 95 % interval ${range(low, high)}`;
      picture.append(svg("g", { class: "mark", role: "img", "aria-label": label },
        svg("title", {}, label),
        svg("text", { class: "soft", x: left - 10, y: mid + 4, "text-anchor": "end" }, fit(data.models[run.model], left - 12)),
        known(low) && svg("line", { x1: X(low), x2: X(high), y1: mid, y2: mid, css: { stroke: colour(run.model), "stroke-width": "2.5", "stroke-linecap": "round", "stroke-opacity": ".65" } }),
        marker(run.model, X(ss), mid, 4.5),
        svg("text", { class: "soft", x: width, y: mid + 4, "text-anchor": "end" }, fixed(ss, 1))));
      y += step;
    }
    y += gap;
  }
  return picture;
}
