// The plan of automatic stitching: parts of the betting tree as boxes, coloured by one figure; those with experts framed.
import { h, percent, svg } from "./dom.js";

const FIGURES = { loss: "NashConv lost", reach: "probability of being reached", infosets: "infosets" };
const ROW = 44;

const shown = (key, x) => (key === "reach" ? percent(x) : key === "infosets" ? Math.round(x).toLocaleString("en") : x.toPrecision(3));
const short = (name) => name.replace(/^prefix\(/, "").replace(/\)$/, "");

function boxes(data, key) {
  const levels = 1 + Math.max(...data.parts.map((part) => part.level));
  const most = Math.max(...data.parts.map((part) => part[key]), 1e-300);
  const wide = 1000;
  const drawn = [...data.parts].sort((a, b) => Boolean(a.expert) - Boolean(b.expert)).map((part) => {
    const share = part[key] / most, x = wide * part.left, w = Math.max(2, wide * part.width - 2), y = ROW * part.level;
    const box = svg("rect", { x, y, width: w, height: ROW - 3, rx: 3, class: part.expert ? "planbox chosen" : "planbox", "fill-opacity": (0.08 + 0.87 * share).toFixed(3) });
    const fits = Math.max(short(part.name).length, shown(key, part[key]).length) * 12 < w;
    const text = fits ? [svg("text", { x: x + w / 2, y: y + 18, class: share > 0.6 ? "planname strong" : "planname" }, short(part.name)),
      svg("text", { x: x + w / 2, y: y + 34, class: share > 0.6 ? "planfigure strong" : "planfigure" }, shown(key, part[key]))] : [];
    return svg("g", {}, svg("title", {}, `${part.name}: ${shown(key, part[key])}${part.expert ? `, ${part.expert}` : ""}`), box, ...text);
  });
  return svg("svg", { viewBox: `-2 -2 ${wide + 4} ${ROW * levels + 4}`, class: "plan", role: "img", "aria-label": `Parts by first actions, coloured by ${FIGURES[key]}; the table below has all figures` }, ...drawn);
}

export function planView(data) {
  const body = h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "The betting tree" });
  const tabs = h("span", { class: "tabs", role: "group", "aria-label": "Colour by" });
  const draw = (key) => {
    body.replaceChildren(data.parts.length ? boxes(data, key) : h("p", { class: "hint" }, "The parts of this game are not first actions: see the table."));
    [...tabs.children].forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.figure === key)));
  };
  for (const [key, name] of Object.entries(FIGURES)) tabs.append(h("button", { type: "button", "data-figure": key, onclick: () => draw(key) }, name));
  draw("loss");
  const rows = [...data.parts, ...data.others].sort((a, b) => b.loss - a.loss).map((part) => h("tr", { class: part.expert ? "chosen" : null },
    h("td", {}, h("code", {}, part.name)), ...["loss", "reach", "infosets"].map((key) => h("td", { class: "num" }, shown(key, part[key]))), h("td", {}, part.expert)));
  return h("div", { class: "panel planpage" }, h("h1", {}, "Where automatic stitching put experts"),
    h("p", { class: "hint" }, `The first plan: parts by the first actions, as wide as they have infosets; framed parts got an expert. Predicted gain in ${data.unit}: ${data.predicted.toPrecision(4)}.`),
    tabs, body,
    h("div", { class: "scroll" }, h("table", { class: "plantable" }, h("thead", {}, h("tr", {}, ["part", "NashConv lost", "reached", "infosets", "expert"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))),
    data.kept.length ? h("p", {}, `Kept in all rounds: ${data.kept.join("; ")}.`) : null);
}
