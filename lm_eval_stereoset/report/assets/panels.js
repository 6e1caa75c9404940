// Parts of the page that a benchmark declares for itself: by a script of its own, as a table, or as a picture.
function drawPanel(section, panel) {
  const body = clear(section.part(`${panel.name}-body`));
  const draw = panels.get(`${section.data.name}/${panel.name}`);
  if (draw) { draw(section, body, panel); return; }
  const table = panel.tables?.[section.split], picture = panel.pictures?.[section.split];
  if (table) body.append(cellTable(panel, table));
  else if (picture) body.append(el("img", { class: "picture", src: picture, alt: `${panel.title}, ${splitText(section)}` }));
  else body.append(note(`Nothing to show for ${splitText(section)}.`));
}
function cellTable(panel, { caption, header, rows, digits }) {
  const columns = header.map((label, i) => {
    const num = rows.some((row) => known(row[i]));
    const whole = rows.every((row) => !known(row[i]) || Number.isInteger(row[i]));
    const cell = (row) => (typeof row[i] === "string" ? el("span", { dir: "auto" }, row[i]) : whole && known(row[i]) ? row[i].toLocaleString("en") : fixed(row[i], digits));
    return { label, num, descending: num, value: (row) => row[i], cell };
  });
  return sortable({ caption, label: panel.title, columns, rows, tall: rows.length > 20, className: "dense" });
}
