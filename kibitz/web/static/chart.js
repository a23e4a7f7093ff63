// Curves on two logarithmic axes, as SVG.
import { small, svg } from "./dom.js";

const WIDE = 760, TALL = 400, LEFT = 62, RIGHT = 16, TOP = 14, BELOW = 44;
export const LINES = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)"];
const DASH = ["", "7 4", "2 3", "9 3 2 3", "4 2", "12 4", "1 4"];

function ticks(low, high) {
  const found = [];
  for (let e = Math.floor(low); e <= Math.ceil(high); e += 1) if (e >= low - 1e-9 && e <= high + 1e-9) found.push(e);
  const step = Math.max(1, Math.ceil(found.length / 8));
  return found.filter((_, k) => k % step === 0);
}
const power = (e) => (e >= -2 && e <= 4 ? String(Number((10 ** e).toPrecision(1))) : `1e${e}`);

export function chart(curves, x, label) {
  const at = x === "seconds" ? 1 : 0;
  const all = curves.flatMap((curve) => curve.points.filter((p) => p[at] > 0 && p[2] > 0).map((p) => [Math.log10(p[at]), Math.log10(p[2])]));
  const made = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, class: "chart", role: "img", "aria-label": label });
  if (!all.length) {
    made.append(svg("text", { x: WIDE / 2, y: TALL / 2, class: "axis", "text-anchor": "middle" }, "NashConv has not been computed yet."));
    return made;
  }
  const goals = curves.map((curve) => curve.goal).filter((goal) => goal > 0).map(Math.log10);
  let [x0, x1] = [Math.min(...all.map((p) => p[0])), Math.max(...all.map((p) => p[0]))];
  let [y0, y1] = [Math.min(...all.map((p) => p[1]), ...goals), Math.max(...all.map((p) => p[1]))];
  if (x1 - x0 < 0.5) { x0 -= 0.3; x1 += 0.3; }
  if (y1 - y0 < 0.5) { y0 -= 0.3; y1 += 0.3; }
  const px = (v) => LEFT + ((v - x0) / (x1 - x0)) * (WIDE - LEFT - RIGHT);
  const py = (v) => TALL - BELOW - ((v - y0) / (y1 - y0)) * (TALL - TOP - BELOW);
  for (const e of ticks(x0, x1)) made.append(svg("line", { x1: px(e), x2: px(e), y1: TOP, y2: TALL - BELOW, class: "rule" }), svg("text", { x: px(e), y: TALL - BELOW + 18, class: "axis", "text-anchor": "middle" }, power(e)));
  for (const e of ticks(y0, y1)) made.append(svg("line", { x1: LEFT, x2: WIDE - RIGHT, y1: py(e), y2: py(e), class: "rule" }), svg("text", { x: LEFT - 8, y: py(e) + 4, class: "axis", "text-anchor": "end" }, power(e)));
  for (const goal of new Set(goals)) made.append(svg("line", { x1: LEFT, x2: WIDE - RIGHT, y1: py(goal), y2: py(goal), class: "goal" }), svg("text", { x: WIDE - RIGHT - 4, y: py(goal) - 5, class: "axis", "text-anchor": "end" }, "target"));
  made.append(svg("text", { x: (LEFT + WIDE - RIGHT) / 2, y: TALL - 6, class: "axis name", "text-anchor": "middle" }, x), svg("text", { x: -(TALL - BELOW + TOP) / 2, y: 14, class: "axis name", "text-anchor": "middle", transform: "rotate(-90)" }, curves[0].axes[2]));
  curves.forEach((curve, k) => {
    const points = curve.points.filter((p) => p[at] > 0 && p[2] > 0);
    const path = points.map((p, i) => `${i ? "L" : "M"}${px(Math.log10(p[at])).toFixed(1)} ${py(Math.log10(p[2])).toFixed(1)}`).join("");
    const line = svg("path", { d: path, class: "line", "stroke-dasharray": DASH[k % DASH.length] });
    line.style.stroke = LINES[k % LINES.length];
    made.append(line);
    const last = points[points.length - 1];
    if (last) {
      const dot = svg("circle", { cx: px(Math.log10(last[at])), cy: py(Math.log10(last[2])), r: 4 }, svg("title", {}, `${curve.name}: ${small(last[2])} after ${small(last[at])} ${x}`));
      dot.style.fill = LINES[k % LINES.length];
      made.append(dot);
    }
  });
  return made;
}
