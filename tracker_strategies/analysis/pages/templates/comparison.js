"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const percent = (value, digits) => (100 * value).toFixed(digits).replace("-", "\u2212") + "\u202f%";
  const digitsFor = (step) => [0, 1, 2, 3, 4].find((d) => Math.abs((100 * step * 10 ** d) % 1) < 1e-6 || d === 4 || 1 - ((100 * step * 10 ** d) % 1) < 1e-6);
  const day = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 10);
  const palette = {};
  /* A run is told by its colour, by the dashes of its lines, by the shape of its points and by its name at their ends. */
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const SHAPES = ["M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z", "M-5.5-5.5h11v11h-11z", "M0-7l7 7-7 7-7-7z", "M0-7l7 12h-14z"];
  const readPalette = () => {
    const style = getComputedStyle(root);
    for (const name of ["ink", "soft", "rule", "index", ...Array.from({ length: data.colours }, (_, i) => `run${i}`)]) {
      palette[name] = style.getPropertyValue(`--${name}`).trim();
    }
  };

  /* Round numbers between two others. */
  const nice = (low, high, count) => {
    const raw = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * 0.999);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
    return ticks;
  };
  const niceLog = (low, high, count) => {
    if (high / low < 4) return nice(low, high, count);
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) ticks.push(...[1, 2, 5].map((m) => m * power));
    return ticks.filter((v) => v >= low && v <= high);
  };

  /* All curves of a field, worked out from its returns when it is first shown. */
  const derive = (field) => {
    if (field.curves) return field.curves;
    const runs = field.runs.filter((run) => run.path).map((run) => run.path.map(floats));
    const bars = runs.length ? runs[0][0].length : 0;
    const x = field.x ?? Array.from({ length: bars + 1 }, (_, t) => t);
    const width = Math.min(Math.max(5, Math.round((field.periods ?? 252) / 4)), Math.floor(bars / 4));
    const curves = { x, width, bars, excess: [], error: [], drawdown: [], growth: [] };
    const index = field.index ? [0] : null;
    if (index) for (const step of floats(field.index)) index.push(index[index.length - 1] + step);
    for (const [active, steps] of runs) {
      const excess = [0], drawdown = [0], error = Array(bars + 1).fill(null);
      let best = 0, square = 0;
      for (let t = 1; t <= bars; t++) {
        excess[t] = excess[t - 1] + steps[t - 1];
        best = Math.max(best, excess[t]);
        drawdown[t] = excess[t] - best;
        square += active[t - 1] ** 2;
        if (t > width) square -= active[t - 1 - width] ** 2;
        if (t >= width) error[t] = Math.sqrt((Math.max(square, 0) / width) * (field.periods ?? 1));
      }
      curves.excess.push(excess);
      curves.drawdown.push(drawdown);
      curves.error.push(error);
      if (index) curves.growth.push(excess.map((v, t) => v + index[t]));
    }
    if (index) curves.growth.push(index);
    field.curves = curves;
    return curves;
  };

  let number = 0, charts = [], hovered = null, following = false;
  const field = () => data.fields[number];
  const boxes = () => all(`.chips[data-field="${number}"] input`);
  const shown = () => boxes().map((box) => box.checked);

  const asPercent = (u, ticks) => ticks.map((v) => percent(v, digitsFor(Math.abs(ticks[1] - ticks[0]) || 0.01)));
  const asGrowth = (u, ticks) => ticks.map((v) => (100 * Math.exp(v)).toLocaleString("en", { maximumFractionDigits: 0 }));
  const growthTicks = (u, axis, low, high) => niceLog(100 * Math.exp(low), 100 * Math.exp(high), 5).map((v) => Math.log(v / 100));

  /* Names at the right ends of the lines that are shown, as near to them as they fit below each other. */
  const TITLES = { excess: "Cumulated log return", error: "Tracking error", drawdown: "Below its maximum", growth: "Value of 100, log scale" };
  const LINE = 13;
  const short = (name) => { /* candidates of a sweep differ in their values: "apas eps=0.001, lam=0.01" is "apas 0.001 0.01" */
    const most = document.documentElement.clientWidth < 560 ? 12 : 17;
    const brief = name.length > most ? name.replace(/[^\s,()=]+=/g, "").replaceAll(", ", " ") : name;
    return brief.length > most ? brief.slice(0, most - 1) + "\u2026" : brief;
  };
  const font11 = (ratio) => `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  const pen = document.createElement("canvas").getContext("2d");
  const room = () => {
    pen.font = font11(1);
    return Math.max(14, 20 + Math.max(0, ...["index", ...field().runs.filter((run) => run.path).map((run) => short(run.name))].map((name) => pen.measureText(name).width)));
  };
  const names = (u) => {
    const { left, top, width, height } = u.bbox, ratio = devicePixelRatio, row = u.data[0].findLastIndex((v) => v <= (u.scales.x.max ?? Infinity));
    const ends = u.series.slice(1).map((s, k) => ({ name: short(s.label), stroke: s.show ? u.data[k + 1][row] : null }));
    const shownEnds = ends.filter((end) => end.stroke != null).map((end) => ({ ...end, at: Math.min(Math.max(u.valToPos(end.stroke, "y", true), top), top + height) }));
    shownEnds.sort((a, b) => a.at - b.at);
    const most = Math.max(1, Math.floor(height / (LINE * ratio)));
    const told = shownEnds.slice(0, most), step = LINE * ratio;
    told.forEach((end, k) => (end.y = k ? Math.max(end.at, told[k - 1].y + step) : end.at));
    for (let k = told.length - 1, low = top + height; k >= 0; k--, low -= step) told[k].y = Math.min(told[k].y, low);
    u.root.dataset.names = JSON.stringify(told.map((end) => end.name)); /* what the canvas says, for readers of the page's tree */
    u.ctx.save();
    u.ctx.font = font11(ratio);
    u.ctx.fillStyle = u.ctx.strokeStyle = palette.soft;
    u.ctx.lineWidth = 0.7 * ratio;
    u.ctx.textBaseline = "middle";
    u.ctx.textAlign = "left";
    for (const end of told) {
      u.ctx.beginPath();
      u.ctx.moveTo(left + width + 2 * ratio, end.at);
      u.ctx.lineTo(left + width + 11 * ratio, end.y);
      u.ctx.stroke();
      u.ctx.fillText(end.name, left + width + 14 * ratio, end.y);
    }
    u.ctx.restore();
  };

  const plot = (figure, kind) => {
    const place = figure.querySelector(".plot");
    const curves = derive(field());
    place.replaceChildren();
    figure.hidden = !curves[kind].length || (kind === "error" && curves.width < 5);
    if (figure.hidden) return null;
    if (kind === "error") figure.querySelector("p").textContent = `RMS over ${curves.width} bars, ${field().periods ? "annualised" : "per bar"}.`;
    const visible = shown();
    const series = curves[kind].map((_, i) =>
      kind === "growth" && i === curves[kind].length - 1
        ? { label: "index", stroke: () => palette.index, width: 3, points: { show: false } }
        : {
            label: field().runs[i].name,
            stroke: () => palette[`run${i % data.colours}`],
            dash: DASHES[i % DASHES.length],
            width: curves[kind].length > 6 ? 1.2 : 1.5,
            show: visible[i],
            points: { show: false },
          },
    );
    const order = curves[kind].map((_, i) => i);
    if (kind === "growth") order.unshift(order.pop()); /* the index lies under the others */
    const font = "12px " + getComputedStyle(document.body).fontFamily;
    const axis = { stroke: () => palette.soft, font, ticks: { show: false }, grid: { stroke: () => palette.rule, width: 1 } };
    const size = () => ({ width: place.clientWidth, height: Math.round(Math.min(340, Math.max(210, 0.45 * place.clientWidth))) });
    const u = new uPlot(
      {
        ...size(),
        legend: { show: false },
        padding: [10, room(), 0, 0],
        focus: { alpha: 0.15 },
        tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "Etc/UTC"),
        scales: { x: { time: !!field().x }, y: kind === "error" ? { range: (u, low, high) => [0, 1.05 * (high || 1e-4)] } : {} },
        axes: [
          { ...axis, grid: { show: false }, space: 46, size: 42, label: field().x ? "Date" : "Bar", labelFont: font, labelSize: 18 },
          { ...axis, size: 62, space: 36, label: TITLES[kind], labelFont: font, labelSize: 20, ...(kind === "growth" ? { splits: growthTicks, values: asGrowth } : { values: asPercent }) },
        ],
        series: [{}, ...order.map((i) => series[i])],
        cursor: {
          y: false,
          points: { size: 6 },
          drag: { x: true, y: false },
          sync: { key: "runs", filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        },
        hooks: { draw: [names], setScale: [(chart, key) => key === "x" && follow(chart)], setCursor: [(chart) => chart === hovered && tell(chart)] },
      },
      [curves.x, ...order.map((i) => curves[kind][i])],
      place,
    );
    u.kind = kind;
    u.at = (run) => (field().runs[run].path ? 1 + order.indexOf(run) : 0);
    u.over.addEventListener("mouseenter", () => (hovered = u));
    u.over.addEventListener("mouseleave", () => tell((hovered = null)));
    u.fit = () => place.clientWidth && u.setSize(size());
    return u;
  };

  /* Values next to the names of the runs: those under the pointer, or the excess returns at the end of what is shown. */
  const tell = (chart) => {
    if (!charts.length) return;
    const pointed = chart?.cursor.idx != null, u = pointed ? chart : charts[0];
    const { min, max } = u.scales.x, x = u.data[0];
    const row = pointed ? u.cursor.idx : x.findLastIndex((v) => v <= (max ?? x.at(-1)));
    boxes().forEach((box, i) => {
      const value = u.at(i) > 0 ? u.data[u.at(i)][row] : null;
      const words = value == null ? "" : u.kind === "growth" ? (100 * Math.exp(value)).toFixed(1) : percent(value, 2);
      box.parentElement.querySelector("output").textContent = words;
    });
    const word = field().x ? day : (bar) => `bar ${Math.round(bar)}`;
    document.getElementById("span").textContent = pointed ? word(x[row]) : `${word(min ?? x[0])} to ${word(max ?? x.at(-1))}`;
  };

  const setRange = (min, max) => {
    following = true;
    charts.forEach((u) => u.setScale("x", { min, max }));
    queueMicrotask(() => ((following = false), tell()));
  };
  const follow = (chart) => {
    const { min, max } = chart.scales.x;
    if (!following && charts.includes(chart)) setRange(min, max);
  };
  const zoom = (how) => {
    if (!charts.length) return;
    const x = charts[0].data[0], first = x[0], last = x.at(-1);
    let { min, max } = charts[0].scales.x;
    const wide = max - min, least = (5 * (last - first)) / Math.max(5, x.length - 1);
    if (how === "all") [min, max] = [first, last];
    if (how === "in" && wide / 2 >= least) [min, max] = [min + wide / 4, max - wide / 4];
    if (how === "out") [min, max] = [Math.max(first, min - wide / 2), Math.min(last, max + wide / 2)];
    const by = how === "later" ? Math.min(wide / 2, last - max) : how === "earlier" ? -Math.min(wide / 2, min - first) : 0;
    setRange(min + by, max + by);
  };

  /* Tracking error against another figure: a point for each run, the best trade-offs joined. */
  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text != null) element.textContent = text;
    return element;
  };
  const frontier = (figure) => {
    const place = figure.querySelector("svg"), key = figure.dataset.frontier, visible = shown();
    const type = parseFloat(getComputedStyle(place).getPropertyValue("--type")) || 1;
    const points = field()
      .runs.map((run, i) => ({ i, name: run.name, te: 1e4 * run.te, other: run[key] }))
      .filter((p) => visible[p.i]);
    place.replaceChildren();
    if (!points.length) return;
    const box = { left: 20 + 40 * type, right: 564, top: 12 + 16 * type, bottom: 330 - 12 - 32 * type };
    const bounds = (values) => [Math.min(...values), Math.max(...values)];
    const [tight, loose] = bounds(points.map((p) => p.te)), log = tight > 0 && loose / tight > 4;
    const scale = (value) => (log ? Math.log(value) : value);
    const range = (low, high) => [low - 0.08 * (high - low || Math.abs(high) || 1e-4), high + 0.08 * (high - low || Math.abs(high) || 1e-4)];
    const [x0, x1] = range(scale(tight), scale(loose)), [y0, y1] = range(...bounds(points.map((p) => p.other)));
    const X = (te) => box.left + ((scale(te) - x0) / (x1 - x0)) * (box.right - box.left);
    const Y = (other) => box.bottom - ((other - y0) / (y1 - y0)) * (box.bottom - box.top);
    const across = log ? niceLog(Math.exp(x0), Math.exp(x1), 5) : nice(x0, x1, 6 / type), up = nice(y0, y1, 5);
    const taken = points.map((p) => [X(p.te) - 6, Y(p.other) - 6, X(p.te) + 6, Y(p.other) + 6]);
    for (const v of across) {
      place.append(svg("line", { class: "rule", x1: X(v), x2: X(v), y1: box.top, y2: box.bottom }));
      place.append(svg("text", { x: X(v), y: box.bottom + 4 + 13 * type, "text-anchor": "middle" }, parseFloat(v.toPrecision(4))));
    }
    const upwards = key === "excess" ? `Log return over the index${field().periods ? ", per year" : ""}` : "Bought plus sold per bar, of the account";
    place.append(svg("text", { class: "axis-title", x: 4, y: 11 * type }, upwards));
    place.append(svg("text", { class: "axis-title", x: (box.left + box.right) / 2, y: 326, "text-anchor": "middle" }, `Tracking error, RMS, bp per bar${log ? ", log scale" : ""}`));
    for (const v of up) {
      place.append(svg("line", { class: "rule", x1: box.left, x2: box.right, y1: Y(v), y2: Y(v) }));
      taken.push([0, Y(v) - 8 * type, box.left - 4, Y(v) + 6 * type]);
      place.append(svg("text", { x: box.left - 8, y: Y(v) + 4, "text-anchor": "end" }, percent(v, digitsFor(up[1] - up[0] || 0.01))));
    }
    const sign = key === "excess" ? -1 : 1;
    let best = Infinity;
    const edge = [...points].sort((a, b) => a.te - b.te || sign * (a.other - b.other)).filter((p) => {
      const better = sign * p.other < best;
      best = Math.min(best, sign * p.other);
      return better;
    });
    const line = edge.slice(1).flatMap((p, i) => Array.from({ length: 65 }, (_, k) => {
      const part = k / 64, x = X(edge[i].te) + part * (X(p.te) - X(edge[i].te)), y = Y(edge[i].other) + part * (Y(p.other) - Y(edge[i].other));
      return [x - 1, y - 1, x + 1, y + 1];
    }));
    place.append(svg("polyline", { class: "edge", points: edge.map((p) => `${X(p.te)},${Y(p.other)}`).join(" ") }));
    for (const p of points) {
      const words = `${p.name}: ${p.te.toFixed(2)} bp, ${percent(p.other, 2)}`;
      const place_of = `translate(${X(p.te)} ${Y(p.other)})`;
      const point = svg("path", { class: `point run${p.i % data.colours}`, d: SHAPES[p.i % SHAPES.length], transform: place_of, tabindex: 0, role: "img", "aria-label": words });
      point.append(svg("title", {}, words));
      place.append(point);
    }
    for (const p of points) {
      const label = svg("text", { class: "point-label" }, p.name.length > 28 ? p.name.slice(0, 27) + "\u2026" : p.name);
      place.append(label);
      const width = label.getComputedTextLength(), high = 11 * type;
      /* Right, left, above, below or between, off the line, wherever nothing stands yet; nowhere, if it is too crowded. */
      const spots = [[10, 4], [-10 - width, 4], [-width / 2, -10], [-width / 2, 8 + high], [8, -7], [8, 5 + high], [-8 - width, -7], [-8 - width, 5 + high]]
        .map(([dx, dy]) => [X(p.te) + dx, Y(p.other) + dy]);
      const spot = spots.find(([x, y]) => x > 2 && x + width < 574 && y > high
        && ![...taken, ...line].some((t) => x < t[2] && x + width > t[0] && y - high < t[3] && y + 2 > t[1]));
      if (!spot) {
        label.remove();
        continue;
      }
      taken.push([spot[0], spot[1] - high, spot[0] + width, spot[1] + 2]);
      label.setAttribute("x", spot[0]);
      label.setAttribute("y", spot[1]);
    }
  };
  const frontiers = () => all("[data-frontier]").forEach(frontier);

  const toggle = () => {
    const visible = shown();
    charts.forEach((u) => u.batch(() => visible.forEach((show, i) => {
      const s = u.at(i);
      if (s > 0 && u.series[s] && u.series[s].show !== show) u.setSeries(s, { show });
    })));
    all(`#metrics [data-field="${number}"] tbody tr`).forEach((row) => row.classList.toggle("off", !visible[row.dataset.run]));
    frontiers();
  };
  const alone = (event) => {
    const chip = event.type === "mouseenter" ? event.currentTarget : null;
    const run = chip && chip.querySelector("input").checked ? Number(chip.querySelector("input").dataset.run) : null;
    charts.forEach((u) => u.setSeries(run == null || !u.series[u.at(run)] || u.at(run) < 1 ? null : u.at(run), { focus: true }));
  };

  const show = (chosen) => {
    number = chosen;
    charts.forEach((u) => u.destroy());
    charts = [];
    all("[data-field]").forEach((part) => (part.hidden = Number(part.dataset.field) !== number));
    readPalette();
    charts = all("[data-chart]").map((figure) => plot(figure, figure.dataset.chart)).filter(Boolean);
    toggle();
    queueMicrotask(() => tell());
  };
  const repaint = () => {
    readPalette();
    charts.forEach((u) => u.redraw(false, false));
  };

  document.getElementById("field")?.addEventListener("change", (event) => show(Number(event.target.value)));
  all(".chip").forEach((chip) => {
    chip.addEventListener("change", toggle);
    chip.addEventListener("mouseenter", alone);
    chip.addEventListener("mouseleave", alone);
  });
  all("[data-show]").forEach((button) => button.addEventListener("click", () => {
    boxes().forEach((box) => (box.checked = button.dataset.show === "all"));
    toggle();
  }));
  all("[data-zoom]").forEach((button) => button.addEventListener("click", () => zoom(button.dataset.zoom)));
  all("#metrics table").forEach((table) => {
    const heads = all("thead th", table), body = table.tBodies[0];
    heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", other !== head ? "none" : up ? "ascending" : "descending"));
      const value = (row) => (column ? Number(row.cells[column].querySelector("data").value) : row.cells[0].textContent);
      const compare = column ? (a, b) => value(a) - value(b) : (a, b) => value(a).localeCompare(value(b), "en", { numeric: true });
      body.append(...[...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a))));
    }));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", () => {
    root.classList.add("print");
    readPalette();
    charts.forEach((u) => u.setSize({ width: 320, height: 210 }));
  });
  addEventListener("afterprint", () => {
    root.classList.remove("print");
    repaint();
    charts.forEach((u) => u.fit());
  });

  show(0);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return;
    width = innerWidth;
    charts.forEach((u) => u.fit());
    frontiers();
  });
  queueMicrotask(() => {
    root.dataset.ready = "";
    performance.mark("ready");
  });
})();
