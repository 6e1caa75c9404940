// Published numbers beside those of this report.
function drawPublished(section) {
  const { data } = section;
  const body = section.part("published-body");
  if (!body) return;
  clear(body);
  const all = data.published || [];
  if (!all.length) {
    body.append(note("None of these models is in the papers under a name that is recognised; name one with --paper-row MODEL=ROW."));
    return;
  }
  const rows = all.filter((b) => b.split === section.split);
  const equal = all.filter((b) => b.equal).length;
  const metric = (b) => section.metrics.get(b.metric);
  const run = (b) => data.runs[b.run];
  const used = Object.entries(data.sources).filter(([key]) => all.some((b) => b.source === key)).map(([, text]) => text);
  body.append(el("p", {}, `${equal} of ${all.length} published cells that this report has a number for are equal as printed (all splits). Published in: ${used.join("; and ")}.`));
  if (!rows.length) { body.append(note(`The papers have no numbers of these models for ${splitText(section)}.`)); return; }
  body.append(sortable({
    caption: `${capital(splitText(section))}. Difference: this report minus published.`, label: "Comparison with the papers", tall: rows.length > 14, rows,
    columns: [
      { label: "Model", value: (b) => report.models[run(b).model], cell: (b) => modelName(run(b).model) },
      { label: "Language", value: (b) => report.languages[run(b).language].name },
      { label: "Metric", value: (b) => metric(b).title },
      { label: "Here", num: true, value: (b) => b.value, cell: (b) => shown(metric(b), b.value) },
      { label: "Published", num: true, value: (b) => b.published, cell: (b) => shown(metric(b), b.published) },
      { label: "Difference", num: true, descending: true, value: (b) => Math.abs(b.value - b.published), cell: (b) => (b.equal ? "equal" : signed(b.value - b.published, metric(b).digits)) },
      { label: "Where", wide: true, value: (b) => `${b.source}, table ${b.table}, ${b.row}` },
      { label: "Remark", wide: true, value: (b) => b.remark },
    ],
    sort: { column: 5, descending: true },
  }));
}
