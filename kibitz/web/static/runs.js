// Runs: convergence of runs as they continue, crosstables and matches.
import { api, cardText, gameName, go, h, problem, released, signed, small } from "./dom.js";
import { LINES, chart } from "./chart.js";

const EVERY = 2000;
let timer = null;
let shown = "";

export async function runs(main, parts, query) {
  clearTimeout(timer);
  if (parts[0] === "crosstable") { await exact(main, query); return leave; }
  await draw(main, parts, query, true);
  return leave;
}
function leave() { clearTimeout(timer); shown = ""; }

const address = (ids, x) => `/runs/${ids.map(encodeURIComponent).join(",")}${x && x !== "iterations" ? `?x=${x}` : ""}`;

async function draw(main, parts, query, first) {
  const here = location.pathname + location.search;
  let data;
  try { data = (await api("runs")).runs; } catch (error) { main.replaceChildren(problem(error)); return; }
  if (here !== location.pathname + location.search) return;
  const x = query.get("x") === "seconds" ? "seconds" : "iterations";
  const asked = (parts[0] || "").split(",").map(decodeURIComponent).filter(Boolean);
  let ids = asked.filter((id) => data.some((run) => run.id === id));
  if (!asked.length) { const curve = data.find((run) => run.kind === "curve"); const any = curve || data.find((run) => run.kind !== "strategy" && run.kind !== "pieces"); ids = any ? [any.id] : []; }
  const held = await Promise.all(ids.map((id) => api(`runs/${encodeURIComponent(id)}`).catch(() => null)));
  await released();
  if (here !== location.pathname + location.search) return;
  const some = held.filter(Boolean);
  const state = JSON.stringify([data, some, x]);
  if (state !== shown || first) { shown = state; paint(main, data, ids, some, x); }
  timer = setTimeout(() => { if (!document.hidden) draw(main, parts, query, false); else timer = setTimeout(() => draw(main, parts, query, false), EVERY); }, EVERY);
}

function paint(main, data, ids, some, x) {
  const focus = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
  const curves = some.filter((run) => run.kind === "curve");
  const rows = data.map((run) => {
    const on = ids.includes(run.id);
    const at = curves.findIndex((curve) => curve.id === run.id);
    const next = run.kind === "curve" ? (on ? ids.filter((id) => id !== run.id) : [...curves.map((curve) => curve.id), run.id]) : [run.id];
    return h("li", {}, h("a", { href: run.kind === "strategy" ? `/look/${encodeURIComponent(run.id)}` : run.kind === "pieces" ? address(ids, x) : address(next, x), "data-link": true, "data-key": run.id, class: "run", "aria-current": on ? "true" : null, vars: at >= 0 ? { "--c": LINES[at % LINES.length] } : {} },
      h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "runname" }, run.name), h("span", { class: "hint" }, [gameName(run.game), run.about].filter(Boolean).join(" · ")),
      h("span", { class: "num" }, run.last ? small(run.last.gap) : "")));
  });
  const side = h("section", { class: "panel runlist", "aria-label": "Runs" }, h("h2", {}, "Saved in this folder"), rows.length ? h("ul", {}, rows) :
    h("p", { class: "hint" }, "There are no runs or strategies in this folder yet. To see a run here, save checkpoints: kibitz solve leduc --seconds 60 --checkpoint leduc.checkpoint"),
    h("p", {}, h("a", { href: "/runs/crosstable", "data-link": true, "data-key": "exact" }, "Crosstable of saved strategies")));
  const panels = [];
  if (curves.length || !some.length) {
    panels.push(h("section", { class: "panel", "aria-label": "Convergence" }, h("div", { class: "panelhead" }, h("h2", {}, "Convergence"),
      h("span", { class: "tabs" }, ["iterations", "seconds"].map((name) => h("a", { href: address(ids, name), "data-link": true, "data-key": name, "aria-current": name === x ? "true" : null }, name)))),
      curves.length ? chart(curves, x, `NashConv of ${curves.map((curve) => curve.name).join(", ")} by ${x}`) : h("p", { class: "hint" }, data.some((run) => run.kind !== "strategy" && run.kind !== "pieces") ? "Choose a run from the list." : "This folder has strategies but no runs. To see the convergence of a run, save checkpoints: kibitz solve leduc --seconds 60 --checkpoint leduc.checkpoint"),
      h("ul", { class: "keys" }, curves.map((curve, k) => h("li", { vars: { "--c": LINES[k % LINES.length] } }, h("span", { class: "dot", "aria-hidden": "true" }), curve.name,
        h("span", { class: "hint" }, curve.last ? ` ${curve.axes[2]} ${small(curve.last.gap)} after ${curve.last.iteration.toLocaleString("en")} iterations, ${small(curve.last.seconds)} s` : "")))),
      h("p", { class: "hint" }, "NashConv is the sum over all players of what a best response would gain. It is 0 at a Nash equilibrium. The plot is updated while the run continues.")));
  }
  for (const run of some) {
    if (run.kind === "crosstable") panels.push(h("section", { class: "panel", "aria-label": "Crosstable" }, crosstable(run)));
    if (run.kind === "match") panels.push(h("section", { class: "panel", "aria-label": "Match" }, match(run)));
  }
  main.replaceChildren(h("div", { class: "runs" }, h("h1", {}, "Runs"), h("div", { class: "runpanels" }, side, h("div", {}, panels))));
  const again = focus && main.querySelector(`[data-key="${CSS.escape(focus)}"]`);
  if (again) again.focus({ preventScroll: true });
  document.title = "Runs · kibitz";
}

function crosstable(run) {
  const most = Math.max(...run.matrix.flat().map((v) => Math.abs(v || 0)), 1e-12);
  const body = run.names.map((name, i) => h("tr", {}, h("th", { scope: "row" }, `${i + 1} ${name}`), run.matrix[i].map((v, j) => (i === j ? h("td", { class: "same" }, "") :
    h("td", { class: `won${v < 0 ? " lost" : ""}${Math.abs(v) > 0.6 * most ? " strong" : ""}`, vars: { "--heat": `${(100 * Math.min(1, Math.abs(v) / most)).toFixed(0)}%` } }, signed(v, most >= 10 ? 1 : 3)))),
  h("td", {}, signed(run.average[i])), h("td", {}, run.exploitability[i] === null ? "–" : small(run.exploitability[i]))));
  return [h("h2", {}, run.name), h("p", { class: "hint" }, `${gameName(run.game)}: what the row player wins against the column player, in ${run.unit} per hand. Blue: the row player wins. Orange: it loses.`),
    h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Crosstable" }, h("table", { class: "cross" }, h("thead", {}, h("tr", {}, h("th", {}, ""), run.names.map((_, k) => h("th", { scope: "col" }, String(k + 1))), h("th", { scope: "col" }, "average"), h("th", { scope: "col" }, "exploitability"))), h("tbody", {}, body)))];
}

function match(run) {
  const ends = run.rows.flatMap((row) => [...row.interval, row.mean]).filter((v) => v !== null);
  const most = Math.max(...ends.map(Math.abs), 1e-12);
  const at = (v) => `${(50 + (48 * v) / most).toFixed(1)}%`;
  return [h("h2", {}, run.name), h("p", { class: "hint" }, `${run.about}${run.game ? `, ${gameName(run.game)}` : ""}: chips per hand, with 95% confidence intervals.`),
    h("ul", { class: "match" }, run.rows.map((row) => h("li", {}, h("span", { class: "runname" }, row.name),
      h("span", { class: "interval", "aria-hidden": "true", vars: { "--low": at(row.interval[0] ?? row.mean ?? 0), "--high": at(row.interval[1] ?? row.mean ?? 0), "--mid": at(row.mean || 0) } }),
      h("span", { class: "num" }, signed(row.mean)), h("span", { class: "hint" }, row.interval[0] === null ? "" : `${signed(row.interval[0])} to ${signed(row.interval[1])}`))))];
}

async function exact(main, query) {
  const here = location.pathname + location.search;
  const { strategies } = await api("library");
  if (here !== location.pathname + location.search) return;
  const ids = query.getAll("id");
  const games = [...new Set(strategies.map((each) => each.game))].filter((game) => strategies.filter((each) => each.game === game).length > 1);
  const game = query.get("game") || games[0];
  const form = h("form", { class: "panel", onsubmit: (event) => {
    event.preventDefault();
    const chosen = [...form.querySelectorAll("input:checked")].map((box) => box.value);
    go(`/runs/crosstable?${new URLSearchParams([["game", game], ...chosen.map((id) => ["id", id])])}`);
  } }, h("label", { class: "field" }, h("span", {}, "Game"), h("select", { onchange: (event) => { if (event.target.value !== game) go(`/runs/crosstable?game=${encodeURIComponent(event.target.value)}`); } }, games.map((each) => h("option", { value: each, selected: each === game }, gameName(each))))),
    h("fieldset", {}, h("legend", {}, "Strategies"), strategies.filter((each) => each.game === game).map((each) => h("label", { class: "check" }, h("input", { type: "checkbox", value: each.id, checked: ids.includes(each.id) }), each.name))),
    h("p", {}, h("button", { class: "main", type: "submit" }, "Compute")));
  const place = h("section", { class: "panel", "aria-label": "Crosstable" }, h("p", { class: "hint" }, ids.length ? "Computing…" : "Choose two to eight strategies. Every pair is evaluated exactly, averaged over all seats."));
  main.replaceChildren(h("div", { class: "runs" }, h("h1", {}, "Crosstable"), h("div", { class: "runpanels" }, form, h("div", {}, place))));
  if (!ids.length) return;
  try { place.replaceChildren(...crosstable(await api(`crosstable?${new URLSearchParams(ids.map((id) => ["id", id]))}`))); } catch (error) { place.replaceChildren(problem(error)); }
}
