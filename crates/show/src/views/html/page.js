"use strict";
// Draws the maps, histograms and the scatter from the data in the page. All text goes in by
// textContent: names come from captures. Nothing is fetched.
(async () => {
const source = document.getElementById("data");
if (!source || typeof DecompressionStream !== "function") return;
const bytes = Uint8Array.from(atob(source.textContent.trim()), (c) => c.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const data = JSON.parse(await new Response(stream).text());

const make = (name, text, parent) => {
  const one = document.createElement(name);
  if (text !== undefined) one.textContent = text;
  if (parent) parent.append(one);
  return one;
};
const three = (x) => Number(x.toPrecision(3)).toString();
const time = (ns) => {
  for (const [unit, scale, limit] of [["ns", 1, 1e3], ["µs", 1e3, 1e6], ["ms", 1e6, 1e9], ["s", 1e9, 6e11]])
    if (Math.abs(ns) < limit) return three(ns / scale) + " " + unit;
  return three(ns / 6e10) + " min";
};
const size = (b) => {
  const units = ["B", "KiB", "MiB", "GiB"];
  let k = 0;
  while (b >= 1023.5 && k < 3) { b /= 1024; k++; }
  return three(b) + " " + units[k];
};
// Violet, orange, yellow: told apart without red and green, and in grey; the first is seen on EMPTY.
const STOPS = [[145, 41, 123], [204, 80, 106], [245, 131, 84], [249, 195, 124], [252, 253, 160]];
const ramp = (share) => {
  const at = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const k = Math.min(Math.floor(at), STOPS.length - 2), part = at - k;
  return STOPS[k].map((low, c) => Math.round(low + (STOPS[k + 1][c] - low) * part));
};
// A moment of an input: the time of day where it knows that, else seconds on its clock.
const SECOND = 1e9, DAY = 86400 * SECOND;
const zero = (input, ns) => {
  const all = data.clocks[input];
  return all && (all.findLast(([from]) => from <= ns) || all[0])[1];
};
const ofDay = (ns, step) => {
  const digits = step < SECOND ? Math.min(Math.ceil(-Math.log10(step / SECOND)), 6) : 0;
  const unit = SECOND / 10 ** digits, parts = (Math.round(ns / unit) % (DAY / unit) + DAY / unit) % (DAY / unit);
  const whole = Math.floor(parts / 10 ** digits), two = (n) => String(n).padStart(2, "0");
  const clock = two(Math.floor(whole / 3600)) + ":" + two(Math.floor(whole / 60) % 60) + ":" + two(whole % 60);
  return digits ? clock + "." + String(parts % 10 ** digits).padStart(digits, "0") : clock;
};
const moment = (input, ns) => zero(input, ns) === null
  ? Number((ns / SECOND).toPrecision(9)) + " s"
  : ofDay(zero(input, ns) + ns, SECOND / 1000);
const css = (rgb) => "rgb(" + rgb.join(",") + ")";
const TEXT = "#a0a6b2", STRONG = "#eceef2", EMPTY = [24, 26, 34];
const LEFT = 76, RIGHT = 12, TOP = 8, BOTTOM = 26;

// One zoom per input: different inputs are on different clocks.
const zooms = new Map(), painters = [];
const repaint = () => { for (const paint of painters) paint(); };
const whole = (input) => data.spans[input] || [0, 1];
const span = (input) => zooms.get(input) || whole(input);
const zoom = (input, range) => {
  if (range && range[1] - range[0] > 0) zooms.set(input, range); else zooms.delete(input);
  repaint();
};

const canvasIn = (figure, height, label) => {
  const canvas = make("canvas", undefined, figure);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const prepare = () => {
    const ratio = window.devicePixelRatio || 1, width = Math.max(figure.clientWidth, 300);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = "#101218";
    pen.fillRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    return [pen, width];
  };
  return [canvas, prepare];
};
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
const axis = (pen, width, height, [from, to], input) => {
  pen.fillStyle = TEXT;
  pen.textAlign = "center";
  const wide = width - LEFT - RIGHT, rough = (to - from) / Math.max(wide / 110, 1);
  const base = 10 ** Math.floor(Math.log10(rough));
  const plain = [1, 2, 5, 10].map((k) => k * base).find((k) => k >= rough) || base;
  const began = zero(input, from), round = STEPS.map((k) => k * SECOND).find((k) => k >= rough);
  const step = began !== null && rough >= SECOND && round ? round : plain;
  const shift = began === null ? 0 : began;
  for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to; at += step) {
    const x = LEFT + (at - from) / (to - from) * wide;
    pen.fillRect(x, height - BOTTOM, 1, 4);
    if (x > LEFT + 14 && x < width - 24)
      pen.fillText(began === null ? Number((at / 1e9).toPrecision(7)) + " s" : ofDay(at + zero(input, at), step), x, height - BOTTOM + 14);
  }
};
const marks = (pen, low, high, y) => {
  pen.textAlign = "right";
  pen.fillStyle = TEXT;
  for (let k = Math.ceil(Math.log10(low)); k <= Math.floor(Math.log10(high)); k++) {
    pen.fillText(time(10 ** k), LEFT - 8, y(10 ** k));
    pen.fillRect(LEFT - 5, y(10 ** k), 4, 1);
  }
};
// Drag selects time, double click and Escape show all again; arrows move a cursor, + and - zoom.
const interact = (figure, canvas, input, say) => {
  figure.tabIndex = 0;
  let down = null, cursor = 0.5;
  const share = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT), 0), 1);
  };
  const at = (part) => { const [a, b] = span(input); return a + part * (b - a); };
  canvas.addEventListener("pointerdown", (event) => { down = share(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    say(at(share(event)), (event.clientY - box.top) / box.height);
  });
  canvas.addEventListener("pointerup", (event) => {
    const up = share(event);
    if (down !== null && Math.abs(up - down) > 0.01) zoom(input, [at(Math.min(up, down)), at(Math.max(up, down))]);
    down = null;
  });
  canvas.addEventListener("dblclick", () => zoom(input, null));
  figure.addEventListener("keydown", (event) => {
    const [a, b] = span(input), step = event.shiftKey ? 0.1 : 0.01;
    if (event.key === "ArrowLeft") cursor = Math.max(cursor - step, 0);
    else if (event.key === "ArrowRight") cursor = Math.min(cursor + step, 1);
    else if (event.key === "+" || event.key === "=") zoom(input, [at(cursor) - (b - a) / 4, at(cursor) + (b - a) / 4]);
    else if (event.key === "-") zoom(input, [a - (b - a) / 2, b + (b - a) / 2]);
    else if (event.key === "Escape" || event.key === "0") zoom(input, null);
    else return;
    event.preventDefault();
    say(at(cursor), null);
  });
};

const choice = (controls, label, options) => {
  const holder = make("label", label + " ", controls), select = make("select", undefined, holder);
  for (const [value, text] of options) make("option", text, select).value = value;
  select.addEventListener("change", repaint);
  return select;
};

for (const figure of document.querySelectorAll("figure[data-map]")) {
  const variants = figure.dataset.map.split(",").map((k) => data.maps[Number(k)]).filter(Boolean);
  if (!variants.length) continue;
  for (const still of figure.querySelectorAll("svg")) still.remove();
  const controls = figure.previousElementSibling;
  const input = variants[0].input;
  const op = choice(controls, "operation", variants.map((one, k) => [k, one.op]));
  const measure = choice(controls, "colour", [["ios", "I/Os per second"], ["waited", "time waited per second"]]);
  const scale = choice(controls, "scale", [["log", "logarithmic"], ["linear", "linear"]]);
  const reset = make("button", "all of the time", controls);
  reset.type = "button";
  reset.addEventListener("click", () => zoom(input, null));
  const out = make("output", "Drag to zoom in time, double click for all of it.");
  const heights = 300;
  const [canvas, prepare] = canvasIn(figure, heights, "heat map: latency over time");
  const bars = make("div", undefined, figure);
  const [, prepareBars] = canvasIn(bars, 150, "histogram of the time shown");
  figure.append(out);
  const current = () => variants[Number(op.value)] || variants[0];
  const row = (map, y) => {
    const edges = map.edges, rows = edges.length - 1, part = 1 - (y * heights - TOP) / (heights - TOP - BOTTOM);
    return Math.min(Math.max(Math.floor(part * rows), 0), rows - 1);
  };
  const say = (at, y) => {
    const map = current();
    const column = map.columns.find(([start, length]) => at >= start && at < start + length);
    if (!column) { out.textContent = "at " + moment(input, at) + ": not watched"; return; }
    const [start, length, cells] = column;
    if (y === null) {
      const ios = cells.reduce((sum, [, n]) => sum + n, 0);
      const waited = cells.reduce((sum, [, , w]) => sum + w, 0);
      out.textContent = "at " + moment(input, start) + ": " + ios + " I/Os in " + time(length) + ", " + time(waited) + " waited";
      return;
    }
    const k = row(map, y), cell = cells.find(([place]) => place === k) || [k, 0, 0];
    const high = map.edges[k + 1];
    out.textContent = "at " + moment(input, start) + ", " + time(map.edges[k]) + " to " + (high === null ? "any" : time(high)) +
      ": " + cell[1] + " I/Os in " + time(length) + " (" + three(cell[1] / length * 1e9) + " per s), " + time(cell[2]) + " waited";
  };
  interact(figure, canvas, input, say);
  painters.push(() => {
    const map = current(), [pen, width] = prepare(), [from, to] = span(input);
    const rows = map.edges.length - 1, wide = Math.max(Math.floor(width - LEFT - RIGHT), 1);
    const place = measure.value === "ios" ? 1 : 2, unit = place === 1 ? 1e9 : 1;
    let low = Infinity, high = 0;
    for (const [, length, cells] of map.columns) for (const cell of cells) {
      const value = cell[place] / length * unit;
      if (value > 0) { low = Math.min(low, value); high = Math.max(high, value); }
    }
    const shade = (value) => scale.value === "linear" ? value / high : (high > low ? Math.log(value / low) / Math.log(high / low) : 1);
    const pixels = new ImageData(wide, rows), words = new Uint32Array(pixels.data.buffer);
    const pack = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    for (const [start, length, cells] of map.columns) {
      const x0 = Math.max(Math.floor((start - from) / (to - from) * wide), 0);
      const x1 = Math.min(Math.max(Math.ceil((start + length - from) / (to - from) * wide), x0 + 1), wide);
      if (start + length <= from || start >= to) continue;
      for (let x = x0; x < x1; x++) for (let k = 0; k < rows; k++) words[k * wide + x] = pack(EMPTY);
      for (const cell of cells) {
        if (!(cell[place] > 0)) continue;
        const colour = pack(ramp(shade(cell[place] / length * unit))), line = (rows - 1 - cell[0]) * wide;
        for (let x = x0; x < x1; x++) words[line + x] = colour;
      }
    }
    const off = document.createElement("canvas");
    off.width = wide; off.height = rows;
    off.getContext("2d").putImageData(pixels, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(off, LEFT, TOP, wide, heights - TOP - BOTTOM);
    const y = (k) => TOP + (1 - k / rows) * (heights - TOP - BOTTOM);
    pen.fillStyle = TEXT; pen.textAlign = "right";
    for (let k = 0, last = Infinity; k < rows; k++)
      if (last - y(k) > 18) { pen.fillText(time(map.edges[k]), LEFT - 8, y(k)); last = y(k); }
    axis(pen, width, heights, [from, to], input);
    // The histogram of the time that is shown.
    const [brush, across] = prepareBars(), counts = new Array(rows).fill(0), waits = new Array(rows).fill(0);
    for (const [start, length, cells] of map.columns) {
      if (start + length <= from || start >= to) continue;
      for (const [k, n, w] of cells) { counts[k] += n; waits[k] += w; }
    }
    const show = place === 1 ? counts : waits, most = Math.max(...show, 1), each = (across - LEFT - RIGHT) / rows;
    show.forEach((n, k) => {
      brush.fillStyle = css(ramp(0.35 + 0.5 * n / most));
      const tall = n / most * 104;
      brush.fillRect(LEFT + k * each, 122 - tall, Math.max(each - 1, 1), n > 0 ? Math.max(tall, 1) : 0);
    });
    brush.fillStyle = TEXT; brush.textAlign = "center";
    for (let k = 0, last = -99; k < rows; k++) {
      const x = LEFT + k * each;
      if (x - last > 70) { brush.fillText(time(map.edges[k]), x, 136); last = x; }
    }
    brush.textAlign = "left"; brush.fillStyle = STRONG;
    const total = counts.reduce((a, b) => a + b, 0), waited = waits.reduce((a, b) => a + b, 0);
    brush.fillText(total + " I/Os, " + time(waited) + " waited in the time shown", LEFT, 10);
  });
}

const scatter = document.querySelector("figure[data-slow]");
if (scatter && data.slow.length) {
  const controls = scatter.previousElementSibling;
  const inputs = [...new Set(data.slow.map((one) => one[0]))];
  const chosen = choice(controls, "input", inputs.map((k) => [k, data.inputs[k].input]));
  const out = make("output", "Point at a dot for its request.");
  const [canvas, prepare] = canvasIn(scatter, 260, "slowest I/Os over time");
  scatter.append(out);
  const input = () => Number(chosen.value);
  const shown = () => data.slow.filter((one) => one[0] === input() && one[1] >= span(input())[0] && one[1] <= span(input())[1]);
  let dots = [];
  painters.push(() => {
    const [pen, width] = prepare(), [from, to] = span(input()), some = shown();
    const low = Math.min(...some.map((one) => one[2]), 1e12) * 0.8, high = Math.max(...some.map((one) => one[2]), 1) * 1.25;
    const y = (ns) => TOP + (1 - Math.log(ns / low) / Math.log(high / low)) * (260 - TOP - BOTTOM);
    dots = some.map((one) => [LEFT + (one[1] - from) / (to - from) * (width - LEFT - RIGHT), y(one[2]), one]);
    for (const [x, top, one] of dots) {
      pen.fillStyle = one[4] === "W" ? "#f57d50" : "#6db3f2";
      if (one[4] === "W") pen.fillRect(x - 2, top - 2, 4, 4);
      else { pen.beginPath(); pen.arc(x, top, 2.4, 0, 7); pen.fill(); }
    }
    marks(pen, low, high, y);
    axis(pen, width, 260, [from, to], input());
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, near = 400;
    for (const dot of dots) {
      const far = (dot[0] - x) ** 2 + (dot[1] - y) ** 2;
      if (far < near) { near = far; best = dot[2]; }
    }
    if (best) out.textContent = data.devices[best[3]] + " " + best[4] + " " + time(best[2]) + " completed at " + moment(best[0], best[1]) +
      (best[5] === null ? "" : ", " + size(best[5])) + (best[6] === null ? "" : ", sector " + best[6]) + (best[7] === null ? "" : ", " + data.names[best[7]]);
  });
}

const downloads = document.getElementById("downloads");
if (downloads) {
  const offer = (name, type, text) => {
    const button = make("button", name, downloads);
    button.type = "button";
    button.addEventListener("click", () => {
      const link = make("a");
      link.href = URL.createObjectURL(new Blob([text()], { type }));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  };
  const cell = (value) => {
    const text = value === null ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  offer("iowhy-report.json", "application/json", () => JSON.stringify(data, null, 1));
  offer("iowhy-cells.csv", "text/csv", () => {
    const rows = ["input,device,stage,op,start_ns,length_ns,low_ns,high_ns,ios,waited_ns"];
    for (const map of data.maps) for (const [start, length, cells] of map.columns) for (const [k, n, w] of cells)
      rows.push([map.input, map.device, map.stage, map.op, start, length, map.edges[k], map.edges[k + 1], n, w].map(cell).join(","));
    return rows.join("\n") + "\n";
  });
  if (data.slow.length) offer("iowhy-slowest.csv", "text/csv", () => {
    const rows = ["input,completed_ns,latency_ns,device,op,bytes,sector,process"];
    for (const one of data.slow)
      rows.push([one[0], one[1], one[2], data.devices[one[3]], one[4], one[5], one[6], one[7] === null ? null : data.names[one[7]]].map(cell).join(","));
    return rows.join("\n") + "\n";
  });
}
repaint();
window.addEventListener("resize", repaint);
document.documentElement.dataset.ready = "yes";
})();
