// Draws every part of every benchmark; one that fails says so and does not take the others with it.
const PARTS = { overview: drawOverview, groups: drawGroups, heat: drawHeat, ranking: drawRanking, published: drawPublished };
const WIDE = ["groups", "ranking"]; // drawn for the width of the window, as the panels are

function drawPart(section, name, draw) {
  try {
    draw();
  } catch (error) {
    console.error(error);
    const body = section.part(`${name}-body`);
    if (body) clear(body).append(note(`This part could not be drawn: ${error.message}`));
  }
}
function drawPanels(section) {
  for (const panel of section.data.panels) drawPart(section, panel.name, () => drawPanel(section, panel));
}
function drawAll(section, names = Object.keys(PARTS)) {
  for (const name of names) drawPart(section, name, () => PARTS[name](section));
  drawPanels(section);
}
function startSection(section) {
  const { data } = section;
  const select = section.part("split");
  if (select) {
    const pooled = data.splits.filter((split) => data.pooled.includes(split)).join(" + ");
    for (const name of data.splits) select.append(el("option", { value: name }, name === "overall" && pooled ? `overall (${pooled})` : name));
    select.addEventListener("change", () => { section.split = select.value; drawAll(section); });
  }
  drawAll(section);
  drawPart(section, "examples", () => drawExamples(section));
  section.part("sources").append(el("ul", {}, data.runs.map((run) => el("li", { dir: "auto" }, `${runLabel(run)}: ${run.source}`,
    run.data && `; data ${run.data}`, run.quantity && `; score: ${run.quantity}`, run.normaliser ? `; normaliser: ${run.normaliser}` : "; normaliser not recorded", !run.samples && "; no samples"))));
}
function start() {
  document.documentElement.classList.remove("no-js");
  const sections = report.benchmarks.map(makeSection);
  sections.forEach(startSection);
  let width = window.innerWidth;
  let timer = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => sections.forEach((section) => drawAll(section, WIDE)), 150);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => sections.forEach(drawPanels));
}
start();
