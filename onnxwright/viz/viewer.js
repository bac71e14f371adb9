// The graph of the page: laid out and drawn in the browser, modules folded and unfolded in place.
(() => {
"use strict";
const data = JSON.parse(document.getElementById("ow-data").textContent);
const NS = "http://www.w3.org/2000/svg";
const CHAR = 6.65, LINE = 14, PAD = 8, HEAD = 22, GAP_X = 14, GAP_Y = 34, INSET = 12;
const BUDGET = 80; // boxes that are drawn at first
const FOUND = 100; // results of a search that are listed
const $ = (id) => document.getElementById(id);
const svg = $("ow-svg"), scene = $("ow-scene"), detail = $("ow-detail");

// -- the graphs as trees: items (nodes, inputs, outputs) in groups (modules, branches, bodies) -----

const graphs = data.graphs.map((source, number) => {
  const root = { group: true, parent: null, children: [], open: true, depth: 0, order: 0 };
  const groups = source.groups.map((g) => ({
    group: true, children: [], open: false, name: g.n, type: g.t, rows: g.d || [], css: g.c,
    order: Infinity, parentId: g.p, number }));
  const items = source.items.map((i, order) => ({
    group: false, css: i.c, lines: i.l, rows: i.d, text: i.s, order, parentId: i.p, number }));
  for (const e of [...groups, ...items]) {
    e.parent = e.parentId < 0 ? root : groups[e.parentId];
    e.parent.children.push(e);
  }
  for (const i of items) {
    for (let g = i.parent; g; g = g.parent) { g.order = Math.min(g.order, i.order); g.count = (g.count || 0) + 1; }
  }
  const deepen = (g) => { for (const c of g.children) { c.depth = g.depth + 1; if (c.group) deepen(c); }
    g.children.sort((a, b) => a.order - b.order); };
  deepen(root);
  const end = (n) => (n >= 0 ? items[n] : groups[-n - 1]);
  const edges = source.edges.map(([from, to, text]) => ({ from: end(from), to: end(to), text }));
  for (const e of [...groups, ...items]) { e.ins = []; e.outs = []; }
  for (const e of edges) { e.from.outs.push(e); e.to.ins.push(e); }
  return { name: source.name, root, groups, items, edges };
});
let graph = graphs[0], selected = null;

function foldAtFirst(g) { // all groups of one depth alike
  let shown = g.root.children.length;
  for (let level = g.root.children.filter((c) => c.group); level.length; ) {
    shown += level.reduce((sum, c) => sum + c.children.length - 1, 0);
    if (shown > BUDGET) return;
    for (const c of level) c.open = true;
    level = level.flatMap((c) => c.children).filter((c) => c.group);
  }
}
graphs.forEach(foldAtFirst);

// -- layout ------------------------------------------------------------------------------------------

const shownAs = (e) => { // what stands for it in the picture: the outermost folded group around it
  let found = e;
  for (let g = e.parent; g; g = g.parent) if (!g.open) found = g;
  return found;
};
const isAround = (g, e) => { for (let p = e; p; p = p.parent) if (p === g) return true; return false; };
const linesOf = (e) => (e.group ? [e.name, ...(e.type ? [e.type] : []), `${e.count || 0} nodes`] : e.lines);

function visibleEdges() {
  const found = new Map(), ids = new Map();
  const id = (e) => { if (!ids.has(e)) ids.set(e, ids.size); return ids.get(e); };
  for (const edge of graph.edges) {
    const from = shownAs(edge.from), to = shownAs(edge.to);
    if (from === to || isAround(from, to) || isAround(to, from)) continue;
    const key = id(from) + ">" + id(to);
    if (found.has(key)) { found.get(key).texts.push(edge.text); continue; }
    let a = from, b = to; // the two children of their common group
    while (a.parent !== b.parent) { if (a.depth > b.depth) a = a.parent; else if (b.depth > a.depth) b = b.parent;
      else { a = a.parent; b = b.parent; } }
    found.set(key, { from, to, a, b, texts: [edge.text] });
  }
  return [...found.values()];
}

function layout(group, byGroup) {
  const all = group.children;
  for (const e of all) {
    if (e.group && e.open) { layout(e, byGroup); continue; }
    const lines = linesOf(e);
    e.w = Math.max(36, Math.max(...lines.map((l) => l.length)) * CHAR + 2 * PAD + (e.group ? 14 : 0));
    e.h = lines.length * LINE + PAD;
  }
  const pairs = new Map();
  for (const edge of byGroup.get(group) || []) {
    if (edge.a.order >= edge.b.order) continue; // drawn, but not what the layers follow
    if (!pairs.has(edge.a)) pairs.set(edge.a, new Set());
    pairs.get(edge.a).add(edge.b);
  }
  const before = new Map(all.map((e) => [e, []]));
  for (const [a, targets] of pairs) for (const b of targets) before.get(b).push(a);
  for (const e of all) e.layer = Math.max(0, ...before.get(e).map((a) => a.layer + 1));
  for (const e of all) { // what nothing leads to is drawn just before what reads it
    if (!before.get(e).length && pairs.has(e)) e.layer = Math.max(0, Math.min(...[...pairs.get(e)].map((b) => b.layer)) - 1);
  }
  const rows = [];
  const row = (n) => { while (rows.length <= n) rows.push([]); return rows[n]; };
  const up = new Map(), down = new Map();
  const join = (a, b) => { (down.get(a) || down.set(a, []).get(a)).push(b); (up.get(b) || up.set(b, []).get(b)).push(a); };
  for (const e of all) { row(e.layer).push(e); e.bends = []; }
  for (const [a, targets] of pairs) {
    const last = Math.max(...[...targets].map((b) => b.layer));
    let at = a;
    const places = [a];
    for (let n = a.layer + 1; n < last; n++) {
      const bend = { w: 6, h: 0, order: a.order, layer: n };
      row(n).push(bend); a.bends.push(bend); join(at, bend); at = bend; places.push(bend);
    }
    for (const b of targets) join(places[b.layer - a.layer - 1], b);
  }
  arrange(rows, up, down);
  let y = 0, wide = 0, left = Infinity;
  for (const r of rows) for (const e of r) left = Math.min(left, e.cx - e.w / 2);
  for (const r of rows) {
    const high = Math.max(0, ...r.map((e) => e.h));
    for (const e of r) { e.x = e.cx - e.w / 2 - left; e.y = y + (high - e.h) / 2; wide = Math.max(wide, e.x + e.w); }
    y += high + GAP_Y;
  }
  group.w = Math.max(wide, (group.name || "").length * CHAR + 40) + 2 * INSET;
  group.h = Math.max(0, y - GAP_Y) + HEAD + 2 * INSET;
}

function arrange(rows, up, down) {
  for (const r of rows) { r.sort((a, b) => a.order - b.order); let x = 0; for (const e of r) { e.cx = x + e.w / 2; x += e.w + GAP_X; } }
  const mean = (list) => list.reduce((sum, e) => sum + e.cx, 0) / list.length;
  for (let sweep = 0; sweep < 8; sweep++) {
    const [order, near] = sweep % 2 ? [[...rows].reverse(), down] : [rows, up];
    for (const r of order) {
      for (const e of r) { const n = near.get(e); e.want = n ? mean(n) : e.cx; }
      r.sort((a, b) => a.want - b.want);
      const right = [], leftward = [];
      let edge = -Infinity;
      for (const e of r) { const x = Math.max(e.want, edge + e.w / 2); right.push(x); edge = x + e.w / 2 + GAP_X; }
      edge = Infinity;
      for (const e of [...r].reverse()) { const x = Math.min(e.want, edge - e.w / 2); leftward.unshift(x); edge = x - e.w / 2 - GAP_X; }
      r.forEach((e, n) => { e.cx = (right[n] + leftward[n]) / 2; });
    }
  }
}

function absolute(group, x, y) {
  group.ax = x; group.ay = y;
  for (const e of group.children) {
    const ex = x + INSET + e.x, ey = y + HEAD + INSET + e.y;
    if (e.group && e.open) absolute(e, ex, ey); else { e.ax = ex; e.ay = ey; }
    for (const b of e.bends) { b.ax = x + INSET + b.x + b.w / 2; b.ay = y + HEAD + INSET + b.y; }
  }
}

// -- drawing -----------------------------------------------------------------------------------------

function make(tag, attributes, around, text) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  if (around) around.appendChild(made);
  return made;
}

let edgesShown = [];
function draw() {
  const byGroup = new Map();
  edgesShown = visibleEdges();
  for (const edge of edgesShown) {
    if (!byGroup.has(edge.a.parent)) byGroup.set(edge.a.parent, []);
    byGroup.get(edge.a.parent).push(edge);
  }
  layout(graph.root, byGroup);
  absolute(graph.root, 0, 0);
  scene.textContent = "";
  const frames = make("g", {}, scene), wires = make("g", {}, scene), boxes = make("g", {}, scene);
  const visit = (group) => {
    for (const e of group.children) {
      if (e.group && e.open) { drawFrame(e, frames); visit(e); } else drawBox(e, boxes);
    }
  };
  visit(graph.root);
  for (const edge of edgesShown) drawEdge(edge, wires);
  mark();
}

function drawFrame(e, around) {
  const g = make("g", { class: "frame " + (e.css || "") }, around);
  make("rect", { x: e.ax, y: e.ay, width: e.w, height: e.h }, g);
  toggle(e, g, e.ax + 6, e.ay + 6, "\u2212");
  const label = e.type ? `${e.name}  ${e.type}` : e.name;
  const room = Math.floor((e.w - 30) / CHAR);
  const text = make("text", { class: "head", x: e.ax + 24, y: e.ay + 17 }, g, label.length > room ? label.slice(0, room - 1) + "\u2026" : label);
  text.addEventListener("click", () => select(e));
  e.el = g;
}

function toggle(e, around, x, y, sign) {
  const g = make("g", { class: "toggle", role: "button", "data-group": e.name }, around);
  make("rect", { x, y, width: 13, height: 13 }, g);
  make("text", { x: x + 6.5, y: y + 10.5, "text-anchor": "middle" }, g, sign);
  g.addEventListener("click", (event) => { event.stopPropagation(); fold(e, e.open); });
}

function drawBox(e, around) {
  const g = make("g", { class: "box " + (e.group ? "fold" : e.css), role: "button", "aria-label": linesOf(e).join(", ") }, around);
  make("rect", { x: e.ax, y: e.ay, width: e.w, height: e.h }, g);
  const shift = e.group ? 7 : 0;
  linesOf(e).forEach((line, n) => make("text", { class: n ? "more" : "op", "text-anchor": "middle",
    x: e.ax + e.w / 2 + shift, y: e.ay + LINE * (n + 1) + 1 }, g, line));
  if (e.group) { toggle(e, g, e.ax + 5, e.ay + 5, "+"); g.addEventListener("dblclick", () => fold(e, false)); }
  g.addEventListener("click", () => select(e));
  e.el = g;
}

function drawEdge(edge, around) {
  const { from, to, a, b } = edge;
  const points = [[from.ax + from.w / 2, from.ay + from.h]];
  if (a.order < b.order) for (const bend of a.bends) if (bend.layer < b.layer) points.push([bend.ax, bend.ay]);
  points.push([to.ax + to.w / 2, to.ay]);
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let n = 1; n < points.length; n++) {
    const [x1, y1] = points[n - 1], [x2, y2] = points[n], half = Math.max(10, (y2 - y1) / 2);
    path += `C${[x1, y1 + half, x2, y2 - half, x2, y2].map((v) => v.toFixed(1)).join(" ")}`;
  }
  edge.el = make("path", { d: path, class: "wire", "marker-end": "url(#ow-tip)" }, around);
  const some = edge.texts.slice(0, 8).join("\n") + (edge.texts.length > 8 ? `\nand ${edge.texts.length - 8} more` : "");
  make("title", {}, edge.el, some);
}

// -- moving ------------------------------------------------------------------------------------------

const at = { x: 0, y: 0, k: 1 };
const move = () => scene.setAttribute("transform", `translate(${at.x} ${at.y}) scale(${at.k})`);
function fit() {
  const r = svg.getBoundingClientRect();
  const k = Math.min(1.5, r.width / graph.root.w, r.height / graph.root.h);
  at.k = Math.max(k, 0.6);
  at.x = (r.width - graph.root.w * at.k) / 2;
  at.y = k < 0.6 ? 8 : (r.height - graph.root.h * at.k) / 2;
  move();
}
function center(e) {
  const r = svg.getBoundingClientRect();
  at.k = Math.max(at.k, 0.8);
  at.x = r.width / 2 - (e.ax + e.w / 2) * at.k;
  at.y = (e.h * at.k > r.height ? 40 : r.height / 2 - (e.h / 2) * at.k) - e.ay * at.k;
  move();
}
function zoom(x, y, factor) { // a place of the picture stays where it is
  const k = Math.min(4, Math.max(0.02, at.k * factor));
  at.x = x - (x - at.x) * (k / at.k); at.y = y - (y - at.y) * (k / at.k); at.k = k;
  move();
}
svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const r = svg.getBoundingClientRect();
  zoom(event.clientX - r.left, event.clientY - r.top, event.deltaY < 0 ? 1.18 : 1 / 1.18);
}, { passive: false });
let held = null;
svg.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY]; });
addEventListener("pointerup", () => { held = null; });
addEventListener("pointermove", (event) => {
  if (!held) return;
  at.x += event.clientX - held[0]; at.y += event.clientY - held[1];
  held = [event.clientX, event.clientY];
  move();
});

// -- folding, selecting, searching -------------------------------------------------------------------

function fold(e, closed) {
  const x = e.ax, y = e.ay;
  e.open = !closed;
  if (closed && selected && selected !== e && isAround(e, selected)) selected = e;
  draw();
  at.x += (x - e.ax) * at.k; at.y += (y - e.ay) * at.k; // it stays where it is
  move();
  tell();
}
function foldAll(closed) {
  for (const g of graph.groups) g.open = !closed;
  if (selected) selected = shownAs(selected);
  draw(); fit(); tell();
}
function reveal(e) {
  if (graphs[e.number] !== graph) { graph = graphs[e.number]; $("ow-graph").value = String(e.number); }
  for (let g = e.parent; g; g = g.parent) g.open = true;
  draw();
  select(e);
  center(e);
}
function select(e) { selected = e; mark(); tell(); }
function mark() {
  for (const old of scene.querySelectorAll(".chosen")) old.classList.remove("chosen");
  for (const edge of edgesShown) {
    const touches = selected && (edge.from === selected || edge.to === selected);
    edge.el.classList.toggle("lit", Boolean(touches));
  }
  if (selected && selected.el && selected.el.isConnected) selected.el.classList.add("chosen");
}
function put(tag, around, text, css) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (css) made.className = css;
  around.appendChild(made);
  return made;
}
const nameOf = (e) => (e.group ? e.name : e.lines[0]);
function link(e, around, text) {
  const made = put("button", around, text, "link");
  made.addEventListener("click", () => reveal(e));
}
function tell() {
  detail.textContent = "";
  if (!selected) { hint(); return; }
  put("h2", detail, nameOf(selected) + (selected.group && selected.type ? ` (${selected.type})` : ""));
  if (selected.group) {
    const button = put("button", detail, selected.open ? "Fold" : "Unfold");
    button.addEventListener("click", () => fold(selected, selected.open));
  }
  const table = put("table", detail);
  const rows = selected.group && !selected.rows.length ? contents(selected) : selected.rows;
  for (const [label, text, css] of rows) {
    const line = put("tr", table, undefined, css || "");
    put("td", line, label);
    put("td", line, text);
  }
  neighbours("comes from", selected.ins.map((e) => [e.from, e.text]));
  neighbours("goes to", selected.outs.map((e) => [e.to, e.text]));
}
function hint() {
  put("p", detail, "Click a node to see its types, attributes and Python line.", "hint");
  const table = put("table", detail);
  for (const [keys, what] of [
    ["arrows", "the next node"], ["Shift arrows", "move the picture"], ["Enter", "fold or unfold a group"],
    ["+  \u2212  0", "zoom, whole graph"], ["/", "search"], ["n  N", "next and previous result"], ["Escape", "back here"],
  ]) { const line = put("tr", table); put("td", line, keys); put("td", line, what); }
}
function neighbours(title, list) {
  if (!list.length) return;
  put("h3", detail, title);
  for (const [e, text] of list.slice(0, 30)) { const line = put("div", detail); link(e, line, nameOf(e)); put("span", line, " " + text); }
}
function contents(group) {
  const counts = new Map();
  const visit = (g) => { for (const c of g.children) { if (c.group) visit(c); else counts.set(c.lines[0], (counts.get(c.lines[0]) || 0) + 1); } };
  visit(group);
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 20).map(([name, n]) => [name, String(n)]);
}
let results = [], current = -1;
function search() {
  const words = $("ow-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = $("ow-found");
  list.textContent = "";
  results = []; current = -1;
  $("ow-count").textContent = "";
  if (!words.length) return;
  for (const g of graphs) for (const i of g.items) if (words.every((w) => i.text.includes(w))) results.push(i);
  $("ow-count").textContent = results.length === 1 ? "1 node" : `${results.length} nodes`;
  for (const i of results.slice(0, FOUND)) {
    const made = put("button", list, i.lines[0] + "  " + (i.rows.find((r) => r[0] === "name") || ["", ""])[1], "link");
    made.addEventListener("click", () => { current = results.indexOf(i); reveal(i); });
  }
}
$("ow-search").addEventListener("input", search);
$("ow-search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") result(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") { event.target.value = ""; search(); event.target.blur(); }
});
function result(by) { // the next one that the search has found
  if (!results.length) return;
  current = (Math.max(current, by < 0 ? 0 : -1) + by + results.length) % results.length;
  reveal(results[current]);
}
// -- keys --------------------------------------------------------------------------------------------

const boxes = () => { // what can be selected: folded groups, nodes, and frames of unfolded groups
  const found = [];
  const visit = (g) => { for (const c of g.children) { found.push(c); if (c.group && c.open) visit(c); } };
  visit(graph.root);
  return found;
};
const STEPS = { ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
function neighbour(key) { // along an edge up or down, beside it left or right
  const [x, y] = STEPS[key];
  const far = (e) => { // how far away in this direction; what lies elsewhere is not reached
    const dx = e.ax + e.w / 2 - selected.ax - selected.w / 2, dy = e.ay + e.h / 2 - selected.ay - selected.h / 2;
    const along = x * dx + y * dy, across = Math.abs(x ? dy : dx);
    return along > 1 && across <= (x ? Math.max(e.h, selected.h) : Infinity) ? along + 2 * across : Infinity;
  };
  let among = boxes().filter((e) => e !== selected && !isAround(e, selected) && !isAround(selected, e));
  if (y) {
    const joined = edgesShown.filter((e) => (y > 0 ? e.from : e.to) === selected).map((e) => (y > 0 ? e.to : e.from));
    if (joined.length) among = joined;
  }
  const best = among.reduce((one, e) => (far(e) < far(one || e) || !one ? e : one), null);
  return best && far(best) < Infinity ? best : null;
}
function step(key) {
  const next = selected && selected.el && selected.el.isConnected ? neighbour(key) : boxes()[0];
  if (next) { select(next); intoView(next); }
}
function intoView(e) {
  const r = svg.getBoundingClientRect();
  const x = at.x + e.ax * at.k, y = at.y + e.ay * at.k;
  if (x < 0 || y < 0 || x + e.w * at.k > r.width || y + e.h * at.k > r.height) center(e);
}
function zoomBy(factor) {
  const r = svg.getBoundingClientRect();
  zoom(r.width / 2, r.height / 2, factor);
}
const KEYS = {
  "+": () => zoomBy(1.18), "=": () => zoomBy(1.18), "-": () => zoomBy(1 / 1.18), "0": fit,
  "/": () => $("ow-search").focus(),
  n: () => result(1), N: () => result(-1),
  Enter: () => { if (selected && selected.group) fold(selected, selected.open); },
  Escape: () => select(null),
};
addEventListener("keydown", (event) => {
  const inField = /^(INPUT|SELECT|BUTTON|SUMMARY)$/.test(event.target.tagName);
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  if (STEPS[event.key] && event.shiftKey) {
    at.x -= 60 * STEPS[event.key][0]; at.y -= 60 * STEPS[event.key][1]; move();
  } else if (STEPS[event.key]) step(event.key);
  else if (KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});
$("ow-fold").addEventListener("click", () => foldAll(true));
$("ow-unfold").addEventListener("click", () => foldAll(false));
$("ow-fit").addEventListener("click", fit);
graphs.forEach((g, n) => { const option = put("option", $("ow-graph"), g.name); option.value = String(n); });
$("ow-graph").hidden = graphs.length < 2;
$("ow-graph").addEventListener("change", (event) => { graph = graphs[Number(event.target.value)]; selected = null; draw(); fit(); tell(); });
const hasGroups = graphs.some((g) => g.groups.length);
$("ow-fold").hidden = $("ow-unfold").hidden = !hasGroups;
draw(); fit(); tell();
addEventListener("resize", fit);
})();
