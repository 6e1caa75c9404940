// The example browser. Nothing is unpacked or shown before the reader has accepted the content warning.
const CANDIDATES = ["stereotype", "anti-stereotype", "unrelated"];
const OUTCOMES = [["stereotype", "prefers stereotype"], ["anti-stereotype", "prefers anti-stereotype"], ["unrelated", "prefers unrelated"], ["tie", "tie"]];
const ABSENT = 255, PAGE = 10;
const filter = { text: "", language: "any", split: "any", type: "any", target: "any", model: "any", outcome: "any" };
let unpacked = null;
let page = 0;

async function gunzip(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
async function unpack() {
  const packed = data.examples;
  const { ids, corpora } = JSON.parse(new TextDecoder().decode(await gunzip(packed.texts)));
  const bytes = await gunzip(packed.scores);
  corpora.forEach((corpus, c) => Object.assign(corpus, packed.corpora[c], {
    blocks: [], ids: corpus.ids.map((i) => ids[i]), language: data.languages.findIndex((l) => l.code === packed.corpora[c].language),
  }));
  const total = packed.blocks.reduce((sum, block) => sum + packed.corpora[block.corpus].n, 0);
  const whole = new Uint8Array(total * 12);
  for (let plane = 0; plane < 4; plane++) for (let i = 0; i < total * 3; i++) whole[4 * i + plane] = bytes[plane * total * 3 + i];
  const view = new DataView(whole.buffer);
  const codes = bytes.subarray(total * 12);
  let start = 0;
  for (const block of packed.blocks) {
    const corpus = corpora[block.corpus], at = start;
    corpus.blocks.push({
      run: data.runs[block.run],
      score: (row, k) => view.getFloat32(4 * (3 * (at + row) + k), true),
      code: (row) => codes[at + row],
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
// The texts of an example: its target term, its context, its three candidates.
const term = (corpus, row) => corpus.texts[5 * row];
const context = (corpus, row) => corpus.texts[5 * row + 1];
const sentence = (corpus, row, k) => corpus.texts[5 * row + 2 + k];
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
function searchText(corpus, row) {
  corpus.plain ||= [];
  return (corpus.plain[row] ||= plain([corpus.ids[row], data.targets[corpus.targets[row]].name, ...corpus.texts.slice(5 * row, 5 * row + 5)].join("\n")));
}
function matches(corpus, row, wanted) {
  const target = corpus.targets[row];
  if (filter.language !== "any" && corpus.language !== Number(filter.language)) return false;
  if (filter.split !== "any" && corpus.split !== filter.split) return false;
  if (filter.type !== "any" && data.targets[target].type !== filter.type) return false;
  if (filter.target !== "any" && target !== Number(filter.target)) return false;
  if (filter.model !== "any" || filter.outcome !== "any") {
    const code = OUTCOMES.findIndex(([key]) => key === filter.outcome);
    const fits = corpus.blocks.some((b) => (filter.model === "any" || b.run.model === Number(filter.model)) && b.code(row) !== ABSENT && (code < 0 || b.code(row) === code));
    if (!fits) return false;
  }
  return !wanted || searchText(corpus, row).includes(wanted);
}
function found() {
  const wanted = plain(filter.text.trim());
  const hits = [];
  for (const [key, list] of unpacked.places) {
    const hit = list.find(([corpus, row]) => matches(corpus, row, wanted));
    if (hit) hits.push({ key, list, hit });
  }
  return hits;
}
function drawExamples() {
  const body = clear(byId("examples-body"));
  if (!data.examples) {
    body.append(note(data.examplesWanted
      ? "No examples to show: none of the results has samples. Run the harness with --log_samples, or give prediction files."
      : "The examples were left out of this page (--no-examples)."));
    return;
  }
  const without = data.runs.filter((run) => !run.samples).map(runLabel);
  if (without.length) body.append(note(`Not shown here, for lack of samples: ${without.join("; ")}.`));
  if (typeof DecompressionStream === "undefined") {
    body.append(note("This browser cannot unpack the examples (it has no DecompressionStream). A current Firefox, Chrome, Edge or Safari can."));
    return;
  }
  const open = el("button", { type: "button", class: "primary", id: "show-examples" }, "Show the sentences");
  const gate = el("div", { class: "warning", id: "gate" },
    el("p", {}, el("strong", {}, "Offensive content. "), "The sentences express stereotypes about gender, professions, race and religion. They are shown to make results checkable, not because anyone here agrees with them."), open);
  open.addEventListener("click", async () => {
    open.disabled = true;
    try {
      unpacked ||= await unpack();
      gate.replaceWith(browserControls());
      refreshExamples();
      byId("example-search").focus({ preventScroll: true });
    } catch (error) {
      gate.replaceWith(note(`The examples could not be unpacked: ${error.message}. Is the file complete?`));
    }
  });
  body.append(gate);
}
function browserControls() {
  const any = [["any", "any"]];
  const change = (key) => (value) => { filter[key] = value; page = 0; refreshExamples(); };
  const search = el("input", { type: "search", id: "example-search", value: filter.text, placeholder: "word, sentence or id", autocomplete: "off" });
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => change("text")(search.value), 150); });
  const types = [...new Set(data.targets.map((t) => t.type))];
  const ofType = data.targets.map((t, i) => [i, t]).filter(([, t]) => filter.type === "any" || t.type === filter.type);
  const languages = [...new Set(unpacked.corpora.map((c) => c.language))].sort((a, b) => a - b);
  const splits = [...new Set(unpacked.corpora.map((c) => c.split))];
  const models = [...new Set(unpacked.corpora.flatMap((c) => c.blocks.map((b) => b.run.model)))].sort((a, b) => a - b);
  return el("div", { id: "browser" },
    el("form", { class: "controls", role: "search", "aria-label": "Find examples", on: { submit: (event) => event.preventDefault() } },
      field("Search", search),
      choice("Language", [...any, ...languages.map((l) => [l, data.languages[l].name])], filter.language, change("language")),
      choice("Split", [...any, ...splits.map((s) => [s, s])], filter.split, change("split")),
      choice("Bias type", [...any, ...types.map((t) => [t, t])], filter.type, change("type")),
      choice("Target", [...any, ...ofType.map(([i, t]) => [i, t.name])], filter.target, change("target")),
      choice("Model", [...any, ...models.map((m) => [m, data.models[m]])], filter.model, change("model")),
      choice("Outcome", [...any, ...OUTCOMES], filter.outcome, change("outcome")),
      el("button", { type: "button", id: "clear-filters", on: { click: () => {
        Object.assign(filter, { text: "", language: "any", split: "any", type: "any", target: "any", model: "any", outcome: "any" });
        page = 0;
        byId("browser").replaceWith(browserControls());
        refreshExamples();
      } } }, "Clear")),
    el("p", { class: "small soft" }, "Outcome: the candidate with the highest score. A tie: stereotype and anti-stereotype score the very same, or the highest score is shared."),
    el("p", { id: "example-count", role: "status", "aria-live": "polite" }),
    el("div", { id: "example-list" }),
    el("div", { class: "pager" },
      el("button", { type: "button", id: "previous", on: { click: () => { page -= 1; refreshExamples(true); } } }, "← Previous"),
      el("span", { id: "example-page" }),
      el("button", { type: "button", id: "next", on: { click: () => { page += 1; refreshExamples(true); } } }, "Next →")));
}
function refreshExamples(scroll) {
  const hits = found();
  const pages = Math.max(1, Math.ceil(hits.length / PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  byId("example-count").textContent = hits.length ? `${plural(hits.length, "example")} found.` : "No example fits all these filters; clear one of them.";
  byId("example-page").textContent = `Page ${page + 1} of ${pages}`;
  byId("previous").disabled = page === 0;
  byId("next").disabled = page >= pages - 1;
  clear(byId("example-list")).append(...hits.slice(page * PAGE, (page + 1) * PAGE).map(exampleCard));
  if (scroll) byId("example-count").scrollIntoView({ block: "nearest" });
}
function exampleCard({ list, hit }) {
  const [corpus, row] = hit;
  const target = data.targets[corpus.targets[row]];
  const blocks = el("div", {}, exampleBlock(corpus, row, list.length > 1));
  const others = list.filter((place) => place !== hit);
  const card = el("article", { class: "example", "data-id": corpus.ids[row] },
    el("h3", {}, el("bdi", {}, target.name), term(corpus, row) !== target.name && [" · ", el("bdi", { lang: data.languages[corpus.language].code }, term(corpus, row))], " ", el("span", { class: "chip" }, target.type), el("span", { class: "chip" }, corpus.split),
      el("span", { class: "chip", title: "id of the example" }, corpus.ids[row])),
    blocks);
  if (others.length) {
    const more = el("button", { type: "button", class: "small", "aria-expanded": "false" }, `Show in all languages (${list.length})`);
    more.addEventListener("click", () => {
      const open = more.getAttribute("aria-expanded") === "true";
      more.setAttribute("aria-expanded", String(!open));
      more.textContent = open ? `Show in all languages (${list.length})` : "Show one language";
      clear(blocks).append(...(open ? [hit] : list).map(([c, r]) => exampleBlock(c, r, true)));
    });
    card.append(more);
  }
  return card;
}
function scoreText(x) {
  if (!Number.isFinite(x)) return "–";
  return (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? x.toPrecision(6) : x.toExponential(3)).replace("-", "−");
}
function exampleBlock(corpus, row, named) {
  const language = data.languages[corpus.language];
  const blocks = corpus.blocks.filter((b) => b.code(row) !== ABSENT);
  const text = (value) => el("span", { lang: language.code, dir: "auto" }, value);
  const best = blocks.map((b) => Math.max(...[0, 1, 2].map((k) => b.score(row, k))));
  return el("div", { class: "block" },
    named && el("h4", {}, language.name),
    el("p", { class: "context" }, el("span", { class: "hidden" }, "Context: "), text(context(corpus, row))),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Candidates and scores, ${language.name}` },
      el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Candidate"), el("th", { scope: "col" }, "Sentence"), blocks.map((b) => el("th", { scope: "col", class: "num" }, modelName(b.run.model))))),
        el("tbody", {}, CANDIDATES.map((label, k) => el("tr", {}, el("th", { scope: "row" }, label), el("td", { class: "sentence" }, text(sentence(corpus, row, k))),
          blocks.map((b, i) => el("td", { class: b.score(row, k) === best[i] && b.code(row) !== 3 ? "num top" : "num" }, scoreText(b.score(row, k))))))),
        el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "Outcome"), el("td", {}), blocks.map((b) => el("td", { class: "num" }, OUTCOMES[b.code(row)][0])))))));
}
function showTarget(target) {
  Object.assign(filter, { text: "", language: "any", split: "any", type: "any", target: String(target), model: "any", outcome: "any" });
  page = 0;
  if (byId("browser")) {
    byId("browser").replaceWith(browserControls());
    refreshExamples();
  }
  byId("examples").scrollIntoView();
  (byId("show-examples") || byId("example-search"))?.focus({ preventScroll: true });
}
