// The example browser. Nothing is unpacked or shown before the reader has accepted the content warning.
const ABSENT = 255, PAGE = 10, WITHOUT_LIMIT = 400;
const noFilter = () => ({ text: "", language: "any", split: "any", group: "any", cluster: "any", model: "any", outcome: "any" });
const WITHOUT_PREFERENCE = ["tie", "no candidate"];
const outcomeText = (name) => (WITHOUT_PREFERENCE.includes(name) ? name : `prefers ${name}`);

async function gunzip(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
// {corpora, places}. A corpus has the texts of one split in one language, and a block of scores of each run.
async function unpack({ data }) {
  const packed = data.examples, labels = data.labels.length;
  const { ids, corpora, answers } = JSON.parse(new TextDecoder().decode(await gunzip(packed.texts)));
  const bytes = await gunzip(packed.scores);
  const width = labels + 2; // the texts of an example: what it is about, its context, its candidates
  corpora.forEach((corpus, c) => {
    const texts = corpus.texts;
    Object.assign(corpus, packed.corpora[c], {
      blocks: [], ids: corpus.ids.map((i) => ids[i]), language: report.languages.findIndex((l) => l.code === packed.corpora[c].language),
      term: (row) => texts[width * row], context: (row) => texts[width * row + 1], sentence: (row, k) => texts[width * row + 2 + k],
      all: (row) => texts.slice(width * row, width * (row + 1)),
    });
  });
  const total = packed.blocks.reduce((sum, block) => sum + packed.corpora[block.corpus].n, 0);
  const numbers = total * labels;
  const whole = new Uint8Array(numbers * 4);
  for (let plane = 0; plane < 4; plane++) for (let i = 0; i < numbers; i++) whole[4 * i + plane] = bytes[plane * numbers + i];
  const view = new DataView(whole.buffer);
  const codes = bytes.subarray(numbers * 4);
  let start = 0;
  for (const [b, block] of packed.blocks.entries()) {
    const corpus = corpora[block.corpus], at = start;
    corpus.blocks.push({
      run: data.runs[block.run],
      score: (row, k) => view.getFloat32(4 * (labels * (at + row) + k), true),
      code: (row) => codes[at + row],
      answers: (row) => answers[b]?.[row] || [], // to questions in words: [[what stood at a, b, c], answer, read as]
    });
    start += corpus.n;
  }
  const places = new Map(); // "split id": [[corpus, row], …] in the order of the languages
  corpora.forEach((corpus) => corpus.ids.forEach((id, row) => {
    const key = `${corpus.split} ${id}`;
    if (!places.has(key)) places.set(key, []);
    places.get(key).push([corpus, row]);
  }));
  for (const list of places.values()) list.sort((a, b) => a[0].language - b[0].language);
  return { corpora, places };
}
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
function searchText({ data }, corpus, row) {
  corpus.plain ||= [];
  return (corpus.plain[row] ||= plain([corpus.ids[row], data.clusters[corpus.clusters[row]].name, ...corpus.all(row), ...corpus.blocks.flatMap((b) => b.answers(row).map(([, said]) => said))].join("\n")));
}
function matches(section, filter, corpus, row, wanted) {
  const { data } = section, cluster = corpus.clusters[row];
  if (filter.language !== "any" && corpus.language !== Number(filter.language)) return false;
  if (filter.split !== "any" && corpus.split !== filter.split) return false;
  if (filter.group !== "any" && data.clusters[cluster].group !== filter.group) return false;
  if (filter.cluster !== "any" && cluster !== Number(filter.cluster)) return false;
  if (filter.model !== "any" || filter.outcome !== "any") {
    const code = data.outcomes.indexOf(filter.outcome);
    const fits = corpus.blocks.some((b) => (filter.model === "any" || b.run.model === Number(filter.model)) && b.code(row) !== ABSENT && (code < 0 || b.code(row) === code));
    if (!fits) return false;
  }
  return !wanted || searchText(section, corpus, row).includes(wanted);
}
function found(section, { filter, unpacked }) {
  const wanted = plain(filter.text.trim());
  const hits = [];
  for (const [key, list] of unpacked.places) {
    const hit = list.find(([corpus, row]) => matches(section, filter, corpus, row, wanted));
    if (hit) hits.push({ key, list, hit });
  }
  return hits;
}
const browsing = (section) => choicesOf(section, "examples", { filter: noFilter(), unpacked: null, page: 0 });
function drawExamples(section) {
  const { data } = section;
  const body = clear(section.part("examples-body"));
  if (!data.examples) {
    body.append(note(!report.examplesWanted ? "The examples were left out of this page (--no-examples)."
      : data.runs.some((run) => run.samples) ? "There are too many examples for a page: they were left out."
        : "No examples to show: none of the results has samples. Run the harness with --log_samples, or give prediction files."));
    return;
  }
  const without = data.runs.filter((run) => !run.samples).map(runLabel);
  if (without.length) body.append(note(`Not shown here, for lack of samples: ${without.join("; ")}.`));
  if (typeof DecompressionStream === "undefined") {
    body.append(note("This browser cannot unpack the examples (it has no DecompressionStream). A current Firefox, Chrome, Edge or Safari can."));
    return;
  }
  const open = el("button", { type: "button", class: "primary", id: section.id("show-examples") }, "Show the sentences");
  const gate = el("div", { class: "warning" },
    el("p", {}, el("strong", {}, "Offensive content. "), "The sentences express stereotypes about people. They are shown to make results checkable, not because anyone here agrees with them."), open);
  open.addEventListener("click", async () => {
    open.disabled = true;
    try {
      browsing(section).unpacked ||= await unpack(section);
      gate.replaceWith(browserControls(section));
      refreshExamples(section);
      section.part("example-search").focus({ preventScroll: true });
    } catch (error) {
      gate.replaceWith(note(`The examples could not be unpacked: ${error.message}. Is the file complete?`));
    }
  });
  body.append(gate);
}
function resetBrowser(section, filter) {
  Object.assign(browsing(section), { filter, page: 0 });
  section.part("browser")?.replaceWith(browserControls(section));
  if (section.part("browser")) refreshExamples(section);
}
function browserControls(section) {
  const { data, id } = section, state = browsing(section), { filter, unpacked } = state;
  const any = [["any", "any"]];
  const change = (key) => (value) => { filter[key] = value; state.page = 0; refreshExamples(section); };
  const search = el("input", { type: "search", id: id("example-search"), value: filter.text, placeholder: "word, sentence or id", autocomplete: "off" });
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => change("text")(search.value), 150); });
  const groups = [...new Set(data.clusters.map((c) => c.group))];
  const clusters = data.clusters.map((c, i) => [i, c]).filter(([, c]) => filter.group === "any" || c.group === filter.group);
  const languages = [...new Set(unpacked.corpora.map((c) => c.language))].sort((a, b) => a - b);
  const splits = [...new Set(unpacked.corpora.map((c) => c.split))];
  const models = [...new Set(unpacked.corpora.flatMap((c) => c.blocks.map((b) => b.run.model)))].sort((a, b) => a - b);
  const turn = (pages) => () => { state.page += pages; refreshExamples(section, true); };
  return el("div", { id: id("browser") },
    el("form", { class: "controls", role: "search", "aria-label": "Find examples", on: { submit: (event) => event.preventDefault() } },
      field("Search", search),
      choice("Language", [...any, ...languages.map((l) => [l, report.languages[l].name])], filter.language, change("language")),
      splits.length > 1 && choice("Split", [...any, ...splits.map((s) => [s, s])], filter.split, change("split")),
      groups.length > 1 && choice(capital(data.groupName), [...any, ...groups.map((g) => [g, g])], filter.group, change("group")),
      clusters.length <= WITHOUT_LIMIT && choice(capital(data.clusterName), [...any, ...clusters.map(([i, c]) => [i, c.name])], filter.cluster, change("cluster")),
      choice("Model", [...any, ...models.map((m) => [m, report.models[m]])], filter.model, change("model")),
      choice("Outcome", [...any, ...data.outcomes.map((o) => [o, outcomeText(o)])], filter.outcome, change("outcome")),
      el("button", { type: "button", id: id("clear-filters"), on: { click: () => resetBrowser(section, noFilter()) } }, "Clear")),
    el("p", { class: "small soft" }, `Outcome: ${data.outcomeIs}. A tie: ${data.tiesAre}.`),
    el("p", { id: id("example-count"), role: "status", "aria-live": "polite" }),
    el("div", { id: id("example-list") }),
    el("div", { class: "pager" },
      el("button", { type: "button", id: id("previous"), on: { click: turn(-1) } }, "← Previous"),
      el("span", { id: id("example-page") }),
      el("button", { type: "button", id: id("next"), on: { click: turn(1) } }, "Next →")));
}
function refreshExamples(section, scroll) {
  const state = browsing(section), { part } = section;
  const hits = found(section, state);
  const pages = Math.max(1, Math.ceil(hits.length / PAGE));
  state.page = Math.min(Math.max(state.page, 0), pages - 1);
  part("example-count").textContent = hits.length ? `${plural(hits.length, "example")} found.` : "No example fits all these filters; clear one of them.";
  part("example-page").textContent = `Page ${state.page + 1} of ${pages}`;
  part("previous").disabled = state.page === 0;
  part("next").disabled = state.page >= pages - 1;
  clear(part("example-list")).append(...hits.slice(state.page * PAGE, (state.page + 1) * PAGE).map((hit) => exampleCard(section, hit)));
  if (scroll) part("example-count").scrollIntoView({ block: "nearest" });
}
function exampleCard(section, { list, hit }) {
  const [corpus, row] = hit;
  const cluster = section.data.clusters[corpus.clusters[row]];
  const term = corpus.term(row), id = corpus.ids[row];
  const chips = [cluster.group, section.data.splits.length > 1 && corpus.split, id !== cluster.name && id].filter((text) => text && text !== cluster.name);
  const blocks = el("div", {}, exampleBlock(section, corpus, row, list.length > 1));
  const others = list.filter((place) => place !== hit);
  const card = el("article", { class: "example", "data-id": id },
    el("h4", {}, el("bdi", {}, cluster.name), term !== cluster.name && [" · ", el("bdi", { lang: report.languages[corpus.language].code }, term)], " ",
      chips.map((text) => el("span", { class: "chip", title: text === id ? "id of the example" : null }, text))),
    blocks);
  if (others.length) {
    const more = el("button", { type: "button", class: "small", "aria-expanded": "false" }, `Show in all languages (${list.length})`);
    more.addEventListener("click", () => {
      const open = more.getAttribute("aria-expanded") === "true";
      more.setAttribute("aria-expanded", String(!open));
      more.textContent = open ? `Show in all languages (${list.length})` : "Show one language";
      clear(blocks).append(...(open ? [hit] : list).map(([c, r]) => exampleBlock(section, c, r, true)));
    });
    card.append(more);
  }
  return card;
}
function scoreText(x) {
  if (!Number.isFinite(x)) return "–";
  if (Number.isInteger(x) && Math.abs(x) < 1000) return String(x).replace("-", "−");
  return (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? x.toPrecision(6) : x.toExponential(3)).replace("-", "−");
}
function exampleBlock(section, corpus, row, named) {
  const { labels, outcomes } = section.data;
  const language = report.languages[corpus.language];
  const blocks = corpus.blocks.filter((b) => b.code(row) !== ABSENT);
  const text = (value) => el("span", { lang: language.code, dir: "auto" }, value);
  const best = blocks.map((b) => Math.max(...labels.map((_, k) => b.score(row, k))));
  const context = corpus.context(row);
  return el("div", { class: "block" },
    named && el("h5", {}, language.name),
    context && el("p", { class: "context" }, el("span", { class: "hidden" }, "Context: "), text(context)),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Candidates and scores, ${language.name}` },
      el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Candidate"), el("th", { scope: "col" }, "Sentence"), blocks.map((b) => el("th", { scope: "col", class: "num" }, modelName(b.run.model))))),
        el("tbody", {}, labels.map((label, k) => el("tr", {}, el("th", { scope: "row" }, label), el("td", { class: "sentence" }, text(corpus.sentence(row, k))),
          blocks.map((b, i) => el("td", { class: b.score(row, k) === best[i] && !WITHOUT_PREFERENCE.includes(outcomes[b.code(row)]) ? "num top" : "num" }, scoreText(b.score(row, k))))))),
        el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "Outcome"), el("td", {}), blocks.map((b) => el("td", { class: "num" }, outcomes[b.code(row)])))))),
    blocks.filter((b) => b.answers(row).length).map((b) => answerList(section, b, row)));
}
// What a model said to each order of the candidates, as text and nothing else.
function answerList(section, block, row) {
  const { labels } = section.data;
  return el("details", { class: "answers" },
    el("summary", {}, modelName(block.run.model), ": ", block.answers(row).map(([, , read]) => read).join(" · ")),
    el("ol", {}, block.answers(row).map(([order, said, read]) => el("li", {},
      el("span", { class: "soft small" }, order.map((k, place) => `(${"abc"[place]}) ${labels[k]}`).join(", ")),
      el("blockquote", { dir: "auto" }, said || "(nothing)"),
      el("span", { class: "small" }, `read as: ${read}`)))));
}
function showCluster(section, cluster) {
  resetBrowser(section, { ...noFilter(), cluster: String(cluster) });
  section.part("examples").scrollIntoView();
  (section.part("show-examples") || section.part("example-search"))?.focus({ preventScroll: true });
}
