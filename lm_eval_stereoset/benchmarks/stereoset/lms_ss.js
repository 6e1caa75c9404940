// LMS against SS, ICAT as contours, the ideal model at (50, 100). A badge names the language, its colour the model.

function spread(badges, bounds) {
  // Pushes overlapping badges apart, a little at a time; a line then leads to the point each belongs to.
  for (let round = 0; round < 400; round++) {
    let moved = false;
    for (let i = 0; i < badges.length; i++) {
      for (let j = i + 1; j < badges.length; j++) {
        const [a, b] = [badges[i], badges[j]];
        const dx = (a.w + b.w) / 2 + 3 - Math.abs(a.x - b.x);
        const dy = (a.h + b.h) / 2 + 3 - Math.abs(a.y - b.y);
        if (dx <= 0 || dy <= 0) continue;
        moved = true;
        if (dx < dy) {
          const push = (dx / 2 + 0.1) * (a.x < b.x || (a.x === b.x && i < j) ? -1 : 1);
          a.x += push; b.x -= push;
        } else {
          const push = (dy / 2 + 0.1) * (a.y < b.y || (a.y === b.y && i < j) ? -1 : 1);
          a.y += push; b.y -= push;
        }
      }
      const a = badges[i];
      a.x = Math.min(Math.max(a.x, bounds.left + a.w / 2), bounds.right - a.w / 2);
      a.y = Math.min(Math.max(a.y, bounds.top + a.h / 2), bounds.bottom - a.h / 2);
    }
    if (!moved) break;
  }
}
function draw(section, body) {
  clear(body);
  const chosen = choicesOf(section, "lms_ss", { intervals: true });
  const runs = section.data.runs.filter((run) => has(section, run, "ss") && has(section, run, "lms"));
  if (!runs.length) {
    body.append(note(`Nothing to plot: no result has LMS and SS for ${splitText(section)}.`));
    return;
  }
  body.append(el("div", { class: "controls" },
    tick("Intervals", chosen.intervals, (checked) => { chosen.intervals = checked; draw(section, body); })));
  body.append(legend([...new Set(runs.map((run) => run.model))].sort((a, b) => a - b)));
  body.append(figure(scatterPicture(section, runs, chosen.intervals, room(body)),
    `${capital(splitText(section))}. Each badge is a model in a language; thin lines are 95 % intervals. The best place is the star: SS 50, LMS 100. ` +
    "Dotted lines join points of equal ICAT."));
}
panels.set("stereoset/lms_ss", draw);
function scatterPicture(section, runs, intervals, width) {
  const height = Math.round(Math.min(620, Math.max(380, width * 0.62)));
  const box = { left: 52, right: width - 46, top: 18, bottom: height - 46 };
  const points = runs.map((run) => ({ run, ss: metricOf(section, run, "ss"), lms: metricOf(section, run, "lms"), icat: metricOf(section, run, "icat") }));
  const lowest = (key) => Math.min(...points.map((p) => (intervals && known(p[key][1]) ? p[key][1] : p[key][0])));
  const highest = (key) => Math.max(...points.map((p) => (intervals && known(p[key][2]) ? p[key][2] : p[key][0])));
  const x0 = Math.max(0, Math.min(45, Math.floor((lowest("ss") - 1.5) / 5) * 5));
  const x1 = Math.min(100, Math.max(60, Math.ceil((highest("ss") + 1.5) / 5) * 5));
  const y0 = Math.max(0, Math.min(60, Math.floor((lowest("lms") - 2) / 10) * 10));
  const X = (ss) => box.left + ((ss - x0) / (x1 - x0)) * (box.right - box.left);
  const Y = (lms) => box.bottom - ((lms - y0) / (102 - y0)) * (box.bottom - box.top);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": `LMS against SS of ${runs.length} results, with lines of equal ICAT` });
  for (let ss = x0; ss <= x1; ss += 5) {
    picture.append(svg("line", { class: "grid", x1: X(ss), x2: X(ss), y1: box.top, y2: box.bottom }),
      svg("text", { x: X(ss), y: box.bottom + 18, "text-anchor": "middle", class: "soft" }, ss));
  }
  for (let lms = y0; lms <= 100; lms += 10) {
    picture.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: Y(lms), y2: Y(lms) }),
      svg("text", { x: box.left - 8, y: Y(lms) + 4, "text-anchor": "end", class: "soft" }, lms));
  }
  for (let level = 10; level < 100; level += 10) {
    // ICAT = LMS · min(SS, 100 − SS) / 50, solved for LMS
    const path = [];
    for (let ss = x0; ss <= x1 + 1e-9; ss += 0.25) {
      const lms = (50 * level) / Math.min(ss, 100 - ss);
      if (lms >= y0 && lms <= 100) path.push([X(ss), Y(lms), ss, lms]);
    }
    if (path.length < 8) continue;
    picture.append(svg("path", { class: "contour", d: path.map(([x, y, ss], i) => `${i && ss - path[i - 1][2] < 0.3 ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("") }));
    const end = path[path.length - 1];
    const atRight = end[2] >= x1 - 0.3;
    picture.append(svg("text", { class: "soft halo", x: atRight ? box.right + 5 : end[0] + 2, y: atRight ? end[1] + 4 : end[1] - 5, "text-anchor": atRight ? "start" : "middle" }, level));
  }
  picture.append(
    svg("text", { class: "soft", x: width - 4, y: box.top - 5, "text-anchor": "end" }, "ICAT"),
    svg("line", { class: "zero", x1: X(50), x2: X(50), y1: box.top, y2: box.bottom }),
    svg("path", { class: "axis", d: `M${box.left},${box.top}V${box.bottom}H${box.right}` }),
    svg("text", { x: (box.left + box.right) / 2, y: height - 8, "text-anchor": "middle" }, width < 520 ? "SS (50 is unbiased)" : "SS: stereotype preferred, % (50 is unbiased)"),
    svg("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${(box.top + box.bottom) / 2}) rotate(-90)` }, "LMS, %"),
    svg("path", { d: star(X(50), Y(100), 9), css: { fill: "var(--good)", stroke: "var(--paper)" } }),
    svg("text", { class: "strong halo", x: X(50) - 13, y: Y(100) + 4, "text-anchor": "end" }, "ideal"));
  const badges = points.map((p) => {
    const text = report.languages[p.run.language].code;
    return { p, text, x: X(p.ss[0]), y: Y(p.lms[0]), w: Math.max(22, textWidth(text, 11) + 11), h: 18 };
  });
  const anchors = badges.map((b) => [b.x, b.y]);
  spread(badges, box);
  if (intervals) badges.forEach(({ p }) => {
    const css = { stroke: colour(p.run.model), "stroke-opacity": ".45", "stroke-width": "1.3" };
    if (known(p.ss[1])) picture.append(svg("line", { x1: X(p.ss[1]), x2: X(p.ss[2]), y1: Y(p.lms[0]), y2: Y(p.lms[0]), css }));
    if (known(p.lms[1])) picture.append(svg("line", { x1: X(p.ss[0]), x2: X(p.ss[0]), y1: Y(p.lms[1]), y2: Y(Math.min(p.lms[2], 100)), css }));
  });
  badges.forEach((b, i) => {
    const [x, y] = anchors[i];
    if (Math.hypot(b.x - x, b.y - y) > 4) {
      picture.append(svg("line", { class: "leader", x1: x, y1: y, x2: b.x, y2: b.y, css: { stroke: colour(b.p.run.model) } }),
        svg("circle", { cx: x, cy: y, r: 2.5, css: { fill: colour(b.p.run.model) } }));
    }
  });
  for (const b of badges) picture.append(badgeMark(b));
  return picture;
}
function badgeMark({ p, text, x, y, w, h }) {
  const { model } = p.run;
  const kind = shape(model);
  const label = `${runLabel(p.run)}: SS ${fixed(p.ss[0])} (${range(p.ss[1], p.ss[2])}), LMS ${fixed(p.lms[0])} (${range(p.lms[1], p.lms[2])}), ICAT ${fixed(p.icat[0])}`;
  const css = kind === "hollow" ? { fill: "var(--paper)", stroke: colour(model), "stroke-width": "2" } : { fill: colour(model), stroke: "var(--paper)" };
  return svg("g", { class: "mark", tabindex: "0", role: "img", "aria-label": label },
    svg("title", {}, label),
    svg("rect", { class: "ring", x: x - w / 2, y: y - h / 2, width: w, height: h, rx: kind === "square" ? 2 : h / 2, css }),
    svg("text", { class: "badge", x, y: y + 4, "text-anchor": "middle", css: { fill: kind === "hollow" ? "var(--ink)" : badgeInk(model) } }, text));
}
// Black or white, whichever reads better on the model's colour in the present theme.
function badgeInk(model) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(`--m${model % 8}`).trim();
  const [r, g, b] = [1, 3, 5].map((i) => (parseInt(hex.slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#000" : "#fff";
}
function star(x, y, r) {
  const corners = Array.from({ length: 10 }, (_, i) => {
    const [radius, angle] = [i % 2 ? r * 0.42 : r, (Math.PI * i) / 5 - Math.PI / 2];
    return `${(x + radius * Math.cos(angle)).toFixed(1)},${(y + radius * Math.sin(angle)).toFixed(1)}`;
  });
  return `M${corners.join("L")}Z`;
}
