// Sixteen stereotypes x models or languages: a number with its interval as colour and text, and the feminine ranks.

function draw(section, body, { facts }) {
  clear(body);
  const { one, rank, names, women, kind } = facts;
  const numbered = (name) => names.map((_, i) => `${name}_${i + 1}`);
  const shows = (run) => numbered(one).some((name) => has(section, run, name));
  const runs = section.data.runs.filter(shows);
  if (!runs.length) { body.append(note(`No result has numbers of single stereotypes for ${splitText(section)}.`)); return; }
  const of = (key) => [...new Set(runs.map((run) => run[key]))].sort((a, b) => a - b);
  const models = of("model"), languages = of("language");
  const chosen = choicesOf(section, "stereotypes", { columns: languages.length > 1 ? "languages" : "models", model: null, language: null, number: one });
  if (!models.includes(Number(chosen.model)) || chosen.model === null) chosen.model = models[0];
  if (!languages.includes(Number(chosen.language)) || chosen.language === null) chosen.language = languages[0];
  const set = (key) => (value) => { chosen[key] = value; draw(section, body, { facts }); };
  const byModel = chosen.columns === "models";
  const used = runs.filter((run) => (byModel ? run.language === Number(chosen.language) : run.model === Number(chosen.model)));
  body.append(el("div", { class: "controls" },
    choice("Number", [[one, `${one}: ${kind.what}`], [rank, `feminine rank by ${kind.ranked}: 1 is the least masculine`]], chosen.number, set("number")),
    models.length > 1 && languages.length > 1 && choice("Columns", [["languages", "languages of a model"], ["models", "models in a language"]], chosen.columns, set("columns")),
    byModel ? languages.length > 1 && choice("Language", languages.map((l) => [l, report.languages[l].name]), chosen.language, set("language"))
      : models.length > 1 && choice("Model", models.map((m) => [m, report.models[m]]), chosen.model, set("model"))));
  body.append(legendOf(section, used, chosen.number, facts), table(section, used, chosen.number, byModel, facts));
}
function scaleOfNumber(section, runs, number, { rank, names, kind }) {
  if (number === rank) return { middle: (names.length + 1) / 2, reach: (names.length - 1) / 2 };
  const values = runs.flatMap((run) => names.map((_, i) => metricOf(section, run, `${number}_${i + 1}`)[0])).filter(known);
  return { middle: kind.middle, reach: Math.max(...values.map((v) => Math.abs(v - kind.middle))) || 1 };
}
function legendOf(section, runs, number, facts) {
  const { middle, reach } = scaleOfNumber(section, runs, number, facts);
  const digits = number === facts.rank ? 0 : 2;
  return el("div", { class: "scale", "aria-hidden": "true" }, `more feminine ${fixed(middle - reach, digits)}`, el("i", {}), `${fixed(middle + reach, digits)} more masculine`);
}
function table(section, runs, number, byModel, facts) {
  const { one, rank, names, women, kind } = facts;
  const scale = scaleOfNumber(section, runs, number, facts);
  const title = (run) => (byModel ? modelName(run.model) : report.languages[run.language].name);
  const rows = names.map((name, i) => el("tr", { class: i === women ? "next" : null },
    el("th", { scope: "row" }, rowName(section, `${i + 1} ${name}`)), runs.map((run) => cell(section, run, `${number}_${i + 1}`, scale, `${i + 1} ${name}`, i, facts))));
  const means = number === rank ? [] : [["women", "mean of 1 to 7", kind.women], ["men", "mean of 8 to 16", kind.men], ["rate", section.metrics.get(kind.rate).title, kind.rate]];
  const below = means.map(([key, text, name]) => el("tr", { class: key === "women" ? "next" : null },
    el("th", { scope: "row" }, text), runs.map((run) => cell(section, run, name, key === "rate" ? null : scale, text, null, facts))));
  const what = number === rank ? `Feminine ranks of the stereotypes, by ${kind.ranked}: 1 is made the least masculine` : `${one}: ${kind.what}`;
  const where = byModel ? report.languages[runs[0].language].name : report.models[runs[0].model];
  return el("div", {},
    el("p", { class: "small soft" }, `${what}; ${where}, ${splitText(section)}. Small figures are 95 % intervals. Stereotypes 1 to ${women} are about women, the others about men.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Heat map of stereotypes" }, el("table", { class: "heat stereotypes" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Stereotype"), runs.map((run) => el("th", { scope: "col" }, title(run))))),
      el("tbody", {}, rows, below))));
}
function rowName(section, group) {
  if (!section.data.examples) return group;
  const show = () => { resetBrowser(section, { ...noFilter(), group }); section.part("examples").scrollIntoView(); };
  return el("button", { type: "button", title: "Show its examples", on: { click: show } }, group);
}
function cell(section, run, name, scale, what, i, { counts, kind, rank }) {
  const [value, low, high] = metricOf(section, run, name);
  const count = i === null ? null : counts[section.split]?.[section.data.runs.indexOf(run)]?.[i];
  const sentences = known(count) ? `, ${plural(count, "example")}` : "";
  const about = `${what}, ${runLabel(run)}`;
  if (!known(value)) {
    const why = i === null || name.startsWith(rank) ? `a stereotype has no number (${kind.undefined})` : kind.undefined;
    return el("td", { class: "soft", title: `${about}: undefined, ${why}${sentences}` }, "–");
  }
  const digits = name.startsWith(rank) ? 0 : 3;
  const text = `${about}: ${fixed(value, digits)}, 95 % interval ${range(low, high, digits)}${sentences}`;
  const css = scale && { "--t": Math.min(1, Math.abs(value - scale.middle) / scale.reach).toFixed(3) };
  return el("td", { class: scale && (value >= scale.middle ? "hot" : "cold"), css, title: text },
    el("span", { class: "value" }, fixed(value, digits)), known(low) && el("span", { class: "interval" }, range(low, high, digits ? 2 : 0)));
}
for (const name of ["gest", "eurogest", "gest_mt"]) panels.set(`${name}/by_stereotype`, draw);
