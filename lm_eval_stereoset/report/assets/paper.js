// Published numbers beside those of this report.
function drawPaper() {
  const body = byId("paper-body");
  if (!body) return;
  clear(body);
  const all = data.paper || [];
  if (!all.length) {
    body.append(note("None of these models is in the papers under a name that is recognised; name one with --paper-row MODEL=ROW."));
    return;
  }
  const rows = all.filter((b) => b.split === state.split);
  const equal = all.filter((b) => b.equal).length;
  body.append(el("p", {}, `${equal} of ${all.length} published cells that this report has a number for are equal as printed (all splits). Published in: ${data.sources.paper}; and ${data.sources.thesis}.`));
  if (!rows.length) { body.append(note(`The papers have no numbers for the split ${state.split} of these models.`)); return; }
  body.append(sortable({
    caption: `Split ${state.split}. Difference: this report minus published.`, label: "Comparison with the papers", tall: rows.length > 14, rows,
    columns: [
      { label: "Model", value: (b) => data.models[data.runs[b.run].model], cell: (b) => modelName(data.runs[b.run].model) },
      { label: "Language", value: (b) => data.languages[data.runs[b.run].language].name },
      { label: "Metric", value: (b) => METRIC_NAMES[b.metric] },
      { label: "Here", num: true, value: (b) => b.value, cell: (b) => fixed(b.value) },
      { label: "Published", num: true, value: (b) => b.published, cell: (b) => fixed(b.published) },
      { label: "Difference", num: true, descending: true, value: (b) => Math.abs(b.value - b.published), cell: (b) => (b.equal ? "equal" : signed(b.value - b.published)) },
      { label: "Where", wide: true, value: (b) => `${b.source}, table ${b.table}, ${b.row}` },
      { label: "Remark", wide: true, value: (b) => b.remark },
    ],
    sort: { column: 5, descending: true },
  }));
}
