"use strict";
// Draws the report of a run. `data` is what tools/apply/page/page.cc writes.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#0b7285", "#c2255c", "#5f3dc4", "#e67700", "#2b8a3e", "#1864ab", "#a61e4d", "#5c940d"];
const colourOf = (change) => COLOURS[change % COLOURS.length];

/** An element with attributes and children; text where a child is a string. */
function make(name, attributes = {}, ...children) {
  const isSvg = ["svg", "g", "rect", "path", "text", "title"].includes(name);
  const element = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// --- Layout: layers from inputs to outputs, crossings reduced by means of neighbours (Sugiyama) -------------------------

const HEIGHT = 34, GAP_X = 18, GAP_Y = 30, SWEEPS = 6, LONG = 40;
const widthOf = (node) => Math.max(64, 7 * Math.max(node.operator.length, 0.8 * node.extents.length) + 14);

/** Ranks: an operand is above its readers, and as near to them as it can be. */
function rank(graph) {
  const ranks = graph.nodes.map(() => 0);
  graph.nodes.forEach((node, i) => { for (const from of node.operands) ranks[i] = Math.max(ranks[i], ranks[from] + 1); });
  const nearest = graph.nodes.map(() => Infinity);
  for (let i = graph.nodes.length - 1; i >= 0; --i) {
    if (nearest[i] < Infinity) ranks[i] = Math.max(ranks[i], nearest[i] - 1);
    for (const from of graph.nodes[i].operands) nearest[from] = Math.min(nearest[from], ranks[i]);
  }
  return ranks;
}

/** Items in layers: the nodes, and a bend wherever an edge crosses a layer. Edges are chains of items. */
function layered(graph) {
  const ranks = rank(graph);
  const items = graph.nodes.map((node, i) => ({node: i, rank: ranks[i], width: widthOf(node), up: [], down: []}));
  const edges = [];
  graph.nodes.forEach((node, to) => {
    for (const from of new Set(node.operands)) {
      const chain = [from];
      const isLong = ranks[to] - ranks[from] > LONG;
      for (let r = ranks[from] + 1; r < ranks[to] && !isLong; ++r) chain.push(items.push({rank: r, width: 4, up: [], down: []}) - 1);
      chain.push(to);
      for (let i = 0; i + 1 < chain.length; ++i) {
        items[chain[i]].down.push(chain[i + 1]);
        items[chain[i + 1]].up.push(chain[i]);
      }
      edges.push(chain);
    }
  });
  const layers = [];
  items.forEach((item, i) => { (layers[item.rank] ||= []).push(i); });
  return {items, edges, layers: layers.map((layer) => layer || [])};
}

const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

function orderLayers({items, layers}) {
  const number = () => layers.forEach((layer) => layer.forEach((item, at) => { items[item].order = at; }));
  number();
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wish = new Map(layer.map((i) => {
        const near = (down ? items[i].up : items[i].down).map((n) => items[n].order);
        return [i, near.length ? mean(near) : items[i].order];
      }));
      layer.sort((a, b) => wish.get(a) - wish.get(b) || a - b);
      layer.forEach((item, at) => { items[item].order = at; });
    }
  }
}

/** Positions along a layer near the wanted ones that keep the order and the distances. */
function spread(layer, items, wish) {
  const least = (a, b) => (items[a].width + items[b].width) / 2 + GAP_X;
  const left = [], right = [];
  layer.forEach((item, k) => { left[k] = k ? Math.max(wish[k], left[k - 1] + least(layer[k - 1], item)) : wish[k]; });
  for (let k = layer.length - 1; k >= 0; --k) {
    right[k] = k + 1 < layer.length ? Math.min(wish[k], right[k + 1] - least(layer[k], layer[k + 1])) : wish[k];
  }
  layer.forEach((item, k) => { items[item].x = (left[k] + right[k]) / 2; });
}

function place({items, layers}) {
  for (const layer of layers) spread(layer, items, layer.map(() => 0));
  for (let sweep = 0; sweep < 2 * SWEEPS; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      spread(layer, items, layer.map((i) => {
        const near = (down ? items[i].up : items[i].down).map((n) => items[n].x);
        return near.length ? mean(near) : items[i].x;
      }));
    }
  }
  for (const item of items) item.y = item.rank * (HEIGHT + GAP_Y);
}

function pathOf(chain, items) {
  const last = chain.length - 1;
  const at = (k) => [items[chain[k]].x, items[chain[k]].y + (k === 0 ? HEIGHT / 2 : k === last ? -HEIGHT / 2 : 0)];
  let [x, y] = at(0), path = `M${x} ${y}`;
  for (let k = 1; k <= last; ++k) {
    const [nextX, nextY] = at(k), half = (y + nextY) / 2;
    path += `C${x} ${half} ${nextX} ${half} ${nextX} ${nextY}`;
    [x, y] = [nextX, nextY];
  }
  return path;
}

// --- A pane: one graph, moved and zoomed -----------------------------------------------------------------------------------

class Pane {
  constructor(id, choose) {
    this.svg = document.getElementById(id);
    this.choose = choose;
    const caption = this.svg.parentNode.querySelector("figcaption");
    this.count = caption.querySelector(".count");
    caption.querySelector(".zoom").append(
      make("button", {title: "zoom in", onclick: () => this.zoom(1.4)}, "+"),
      make("button", {title: "zoom out", onclick: () => this.zoom(1 / 1.4)}, "−"),
      make("button", {title: "show all", onclick: () => this.fit()}, "all"));
    this.listen();
  }

  show(graph) {
    const layout = layered(graph);
    orderLayers(layout);
    place(layout);
    this.items = layout.items;
    this.scene = make("g");
    for (const chain of layout.edges) this.scene.append(make("path", {class: "edge", d: pathOf(chain, layout.items)}));
    this.elements = graph.nodes.map((node, i) => this.nodeElement(node, layout.items[i]));
    this.scene.append(...this.elements);
    this.svg.replaceChildren(this.scene);
    this.graph = graph;
    const hidden = graph.hidden ? `, ${graph.hidden} more far from all sites are not drawn` : "";
    this.count.textContent = `${graph.nodes.filter((n) => !n.end).length} nodes${hidden}`;
    this.fit();
  }

  nodeElement(node, item) {
    const changed = node.change >= 0;
    const box = make("rect", {x: item.x - item.width / 2, y: item.y - HEIGHT / 2, width: item.width, height: HEIGHT, rx: 4});
    if (changed) box.setAttribute("style", `fill:${colourOf(node.change)}33;stroke:${colourOf(node.change)}`);
    const element = make("g", {class: `node${node.end ? " end" : ""}${changed ? " changed" : ""}`},
      make("title", {}, `${node.operator} ${node.name}\n${node.extents}`), box,
      make("text", {x: item.x, y: item.y - 2}, node.operator),
      make("text", {x: item.x, y: item.y + 11, class: "extents"}, node.extents));
    if (changed) element.addEventListener("click", () => { if (!this.moved) this.choose(node.change); });
    return element;
  }

  /** What has to be seen: a rectangle around some items. */
  around(indices) {
    const items = indices.map((i) => this.items[i]);
    const xs = items.flatMap((i) => [i.x - i.width / 2, i.x + i.width / 2]), ys = items.map((i) => i.y);
    const low = (a) => a.reduce((x, y) => Math.min(x, y)), high = (a) => a.reduce((x, y) => Math.max(x, y));
    return {x: low(xs) - 20, y: low(ys) - 40, width: high(xs) - low(xs) + 40, height: high(ys) - low(ys) + 80};
  }

  fit() {
    if (this.graph.nodes.length) this.look(this.around(this.graph.nodes.map((_, i) => i)), 1.5);
  }

  /** The nodes of a change, large enough to read. */
  find(change) {
    const found = [];
    this.graph.nodes.forEach((node, i) => {
      this.elements[i].classList.toggle("chosen", node.change === change);
      if (node.change === change) found.push(i);
    });
    if (found.length) this.look(this.around(found), 1.2);
  }

  look(rectangle, largest) {
    const {clientWidth, clientHeight} = this.svg;
    this.scale = Math.min(largest, clientWidth / rectangle.width, clientHeight / rectangle.height);
    this.x = clientWidth / 2 - this.scale * (rectangle.x + rectangle.width / 2);
    this.y = clientHeight / 2 - this.scale * (rectangle.y + rectangle.height / 2);
    this.move();
  }

  zoom(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const scale = Math.min(4, Math.max(0.01, this.scale * factor));
    this.x = x - (x - this.x) * scale / this.scale;
    this.y = y - (y - this.y) * scale / this.scale;
    this.scale = scale;
    this.move();
  }

  move() { this.scene.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.scale})`); }

  listen() {
    let from = null;
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const frame = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - frame.left, event.clientY - frame.top);
    }, {passive: false});
    this.svg.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; this.moved = false; });
    this.svg.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) return;
      const dx = event.clientX - from[0], dy = event.clientY - from[1];
      if (!this.moved && Math.hypot(dx, dy) < 4) return;
      this.moved = true;
      from = [event.clientX, event.clientY];
      this.x += dx;
      this.y += dy;
      this.move();
    });
  }
}

// --- What a rule corrects, on the output's last two dimensions ----------------------------------------------------------------

const rangeText = ([lower, upper, step]) => step === 1 ? `${lower}:${upper}` : `${lower}:${upper}:${step}`;

function boxMap(site) {
  const [height, width] = site.output.length > 1 ? site.output.slice(-2) : [1, site.output[0]];
  const scale = Math.min(320 / width, 240 / height), least = 2;
  const map = make("svg", {class: "map", width: width * scale + 2, height: height * scale + 20,
    viewBox: `-1 -1 ${width * scale + 2} ${height * scale + 20}`, role: "img", "aria-label": "corrected positions of the output"});
  map.append(make("rect", {class: "field", width: width * scale, height: height * scale}));
  for (const box of site.boxes) {
    const rows = box.length > 1 ? box[box.length - 2] : [0, 1, 1], columns = box[box.length - 1];
    const bands = ([lower, upper, step], size) => {
      const all = [];
      for (let at = lower; at < Math.min(upper, size); at += step) all.push(step === 1 ? [lower, upper] : [at, at + 1]);
      return step === 1 ? all.slice(0, 1) : all;
    };
    for (const [top, bottom] of bands(rows, height)) {
      for (const [left, right] of bands(columns, width)) {
        map.append(make("rect", {class: "box", x: left * scale, y: top * scale,
          width: Math.max(least, (right - left) * scale), height: Math.max(least, (bottom - top) * scale)},
        make("title", {}, `[${box.map(rangeText).join(", ")}]`)));
      }
    }
  }
  map.append(make("text", {x: 0, y: height * scale + 15}, `${height} x ${width} of [${site.output.join(", ")}]`));
  return map;
}

// --- Tables ---------------------------------------------------------------------------------------------------------------------

function fill(id, heading, rows, none) {
  const section = document.getElementById(id), table = section.querySelector("table");
  if (!rows.length) {
    table.replaceWith(make("p", {class: "empty"}, none));
    return;
  }
  if (heading.length) table.append(make("thead", {}, make("tr", {}, ...heading.map((text) => make("th", {}, text)))));
  table.append(make("tbody", {}, ...rows));
}

const cells = (...texts) => texts.map((text) => make("td", {}, text instanceof Node ? text : String(text)));
const ratio = (gain) => gain === null ? "not known" : gain.toFixed(2);
const symbolsText = (shapes) => Object.entries(shapes).map(([name, value]) => `${name}=${value}`).join(" ");

/** One rule at one site, in words. */
function siteDetail(site) {
  const list = make("dl");
  const add = (name, text) => list.append(make("dt", {}, name), make("dd", {}, text));
  add("Site", site.site);
  add("Rule", site.rule);
  add("Shapes", symbolsText(site.shapes));
  add("Expected gain", ratio(site.gain));
  add("Proof", site.proof);
  add("Numerics", site.numerics);
  if (site.values.length) add("Constants are", site.values.join("; "));
  const left = make("div", {}, list);
  if (site.boxes.length) {
    left.append(make("p", {}, `The rule computes ${site.boxes.length === 1 ? "one box" : site.boxes.length + " boxes"} of the output again, where its fast part is wrong:`),
      boxMap(site), ...site.boxes.map((box) => make("p", {class: "empty"}, `[${box.map(rangeText).join(", ")}]`)));
  }
  return [left, make("pre", {}, site.statement)];
}

// --- The page -------------------------------------------------------------------------------------------------------------------

let current = 0;
const panes = ["before", "after"].map((id) => new Pane(id, choose));

/** Shows a change: in both graphs, and what the rules did there. */
function choose(change) {
  for (const pane of panes) pane.find(change);
  const sites = data.sites.filter((site) => site.place === current && site.change === change);
  const title = make("h2", {}, make("span", {class: "dot", style: `background:${colourOf(change)}`}),
    sites.length === 1 ? "One site" : `${sites.length} sites whose layouts were joined`);
  document.getElementById("detail").replaceChildren(title, ...sites.flatMap(siteDetail));
  document.querySelectorAll("#sites tbody tr").forEach((row, i) => {
    row.classList.toggle("chosen", data.sites[i].place === current && data.sites[i].change === change);
  });
}

function showPlace(place) {
  current = place;
  document.getElementById("places").value = place;
  document.getElementById("detail").replaceChildren();
  panes[0].show(data.places[place].before);
  panes[1].show(data.places[place].after);
}

function chooseSite(site) {
  if (site.place < 0) return;
  if (site.place !== current) showPlace(site.place);
  choose(site.change);
}

function show() {
  document.title = data.title;
  document.getElementById("title").textContent = data.title;
  document.getElementById("headline").textContent = data.headline;
  document.getElementById("figures").append(...data.figures.map(([value, what]) => make("li", {}, make("b", {}, value), make("span", {}, what))));
  const places = document.getElementById("places");
  data.places.forEach((place, i) => places.append(make("option", {value: i}, place.path || "main graph")));
  places.addEventListener("change", () => showPlace(Number(places.value)));
  document.getElementById("places-label").hidden = data.places.length < 2;
  fill("sites", ["Site", "Rule", "Expected gain", "Shapes"], data.sites.map((site) => {
    const dot = make("span", {class: "dot", style: `background:${site.change < 0 ? "#9aa5b4" : colourOf(site.change)}`});
    return make("tr", {class: "link", onclick: () => chooseSite(site)},
      make("td", {}, dot, site.site), ...cells(site.rule, ratio(site.gain), symbolsText(site.shapes)));
  }), "No rule fired.");
  fill("refused", ["Times", "Because", "What would do", "For example"], data.refused.map((r) => make("tr", {}, ...cells(r.count, r.reason, r.option, r.example))), "Nothing was refused.");
  fill("untouched", ["Nodes", "Operator", "Because"], data.untouched.map((u) => make("tr", {}, ...cells(u.count, u.operator, u.reason))), "Every node was looked into.");
  fill("checks", ["What", "Compared", "Largest difference, of the allowed one"], data.checks.map((c) => make("tr", {}, ...cells(c.where, c.possible ? c.scope : c.reason, c.possible ? c.worst.toPrecision(2) : "not compared"))), "Nothing was checked: a dry run, or nothing fired.");
  fill("run", [], data.run.map(([name, value]) => make("tr", {}, ...cells(name, value))), "");
  showPlace(0);
  if (data.sites.length) chooseSite(data.sites[0]);
}

show();
