// A sortable table. Columns: {label, title, num, value(row): what to sort by, cell(row): what to show, best(row), wide}.
// The first column heads its row. Sorting keeps what is undefined at the end.
function sortable({ caption, columns, rows, label, sort, tall, className, rowClass }) {
  let { column, descending } = sort || { column: 0, descending: false };
  const head = el("tr", {});
  const body = el("tbody", {});
  const compare = (a, b) => {
    const [x, y] = [columns[column].value(a), columns[column].value(b)];
    const missing = (v) => v === null || v === undefined || Number.isNaN(v);
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
    return descending ? -order : order;
  };
  const refresh = () => {
    [...head.children].forEach((th, i) => {
      if (i === column) th.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    clear(body);
    for (const row of [...rows].sort(compare)) {
      body.append(el("tr", { class: rowClass?.(row) }, columns.map((c, i) => {
        const cell = c.cell ? c.cell(row) : c.value(row);
        if (i === 0) return el("th", { scope: "row" }, cell);
        if (cell instanceof HTMLTableCellElement) return cell;
        return el("td", { class: [c.num && "num", c.wide && "wide", c.best?.(row) && "best"].filter(Boolean).join(" ") || null }, cell);
      })));
    }
  };
  columns.forEach((c, i) => {
    const sortBy = () => {
      [column, descending] = i === column ? [i, !descending] : [i, Boolean(c.descending)];
      refresh();
    };
    head.append(el("th", { scope: "col", class: c.num ? "num" : null, title: c.title },
      el("button", { type: "button", on: { click: sortBy } }, c.label)));
  });
  refresh();
  const table = el("table", { class: className }, el("caption", {}, caption), el("thead", {}, head), body);
  return el("div", { class: tall ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": label || caption }, table);
}
function valueCell(metric, [value, low, high]) {
  if (!known(value)) return el("span", { class: "soft" }, "–");
  return [el("span", { class: "value" }, shown(metric, value)), el("span", { class: "interval" }, shownRange(metric, low, high))];
}
