// Draws every section; one that fails says so and does not take the others with it.
const SECTIONS = { overview: drawOverview, scatter: drawScatter, biastypes: drawBiasTypes, targets: drawTargets, ranking: drawRanking, paper: drawPaper };

function drawSection(id, draw) {
  try {
    draw();
  } catch (error) {
    console.error(error);
    const body = byId(`${id}-body`);
    if (body) clear(body).append(note(`This part could not be drawn: ${error.message}`));
  }
}
function drawAll() {
  for (const [id, draw] of Object.entries(SECTIONS)) drawSection(id, draw);
}
function start() {
  document.documentElement.classList.remove("no-js");
  const split = byId("split");
  for (const name of data.splits) split.append(el("option", { value: name }, name === "overall" ? "overall (intra + inter)" : name));
  split.addEventListener("change", () => { state.split = split.value; drawAll(); });
  drawAll();
  drawSection("examples", drawExamples);
  byId("sources").append(el("ul", {}, data.runs.map((run) => el("li", { dir: "auto" }, `${runLabel(run)}: ${run.source}`,
    run.data && `; data ${run.data}`, run.quantity && `; score: ${run.quantity}`, run.normaliser ? `; normaliser: ${run.normaliser}` : "; normaliser not recorded", !run.samples && "; no samples"))));
  let width = window.innerWidth;
  let timer = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => { drawSection("scatter", drawScatter); drawSection("biastypes", drawBiasTypes); drawSection("ranking", drawRanking); }, 150);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawSection("scatter", drawScatter));
}
start();
