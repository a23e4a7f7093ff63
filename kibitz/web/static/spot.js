// A solved spot: its decisions, line by line.
import { api, bars, card, cardText, cards, colours, grid, h, heat, percent, problem, say, small, split, wordNode } from "./dom.js";

let shown = { metric: "strategy", kind: "", text: "" };  // what the grid shows, and which hands
let asked = 0;
let nextFlop = () => {};  // asks the form about a flop

const address = (id, line) => `/spots/${encodeURIComponent(id)}${line ? `?${new URLSearchParams({ line })}` : ""}`;

export async function solved(main, data, line, askFlop) {
  const mine = ++asked;
  nextFlop = askFlop;
  main.setAttribute("aria-busy", "true");
  if (!main.querySelector(".spot")) main.replaceChildren(h("p", { class: "waiting" }, "Computing values…"));
  let node;
  try { node = await api(`spots/${encodeURIComponent(data.id)}/node?${new URLSearchParams({ line })}`); } catch (error) {
    if (mine === asked) { main.removeAttribute("aria-busy"); main.replaceChildren(problem(error, line ? address(data.id, "") : "/spots")); }
    return;
  }
  if (mine !== asked || !location.pathname.startsWith("/spots/")) return;
  main.removeAttribute("aria-busy");
  draw(main, data, node);
  document.title = `${node.board.length ? cardText(node.board.join(" ")) : "Before the flop"} · kibitz`;
  say(node.player ? `${node.player} to act` : node.kind === "end" ? "The hand is over" : "Choose a card");
}

function draw(main, data, node) {
  const redraw = () => draw(main, data, node);
  const body = h("div", { class: "look spot" }, h("div", { class: "spottop" }, crumbs(data, node),
    h("span", { class: "tabs" }, h("a", { href: "/spots", "data-link": true }, "new spot"), data.kind === "two" ? h("a", { href: `/spots/${encodeURIComponent(data.id)}/play`, "data-link": true }, "play this spot") : null)), heading(data, node));
  if (node.kind === "decision") {
    body.append(actions(data, node), strategyPanel(node, redraw));
  } else if (node.kind === "chance") body.append(runoutPanel(data, node));
  body.append(h("section", { class: "panel ranges", "aria-label": "Ranges" }, h("h2", {}, "Ranges"), h("div", { class: "rangerow" }, node.players.map((player) => rangePanel(player)))));
  if (node.flop) body.append(h("p", {}, h("button", { class: "main", type: "button", onclick: () => nextFlop(node.flop) }, "Solve a flop with these ranges")));
  const key = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
  main.replaceChildren(body);
  const again = key && main.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (again) again.focus({ preventScroll: true });
}

function crumbs(data, node) {
  const items = [h("li", {}, h("a", { href: address(data.id, ""), "data-link": true }, "start"))];
  for (const step of node.steps) items.push(h("li", { class: step.seat < 0 ? "chance" : `seat${step.seat}` }, h("a", { href: address(data.id, step.line), "data-link": true, "aria-current": step.line === node.line ? "step" : null },
    step.seat >= 0 ? h("span", { class: "who" }, data.kind === "preflop" ? data.players[step.seat] : data.players[step.seat][0]) : null, wordNode(step.word))));
  return h("nav", { class: "crumbs", "aria-label": "Actions so far" }, h("ol", {}, items));
}

const number = (x, digits = 2) => (x === null ? "–" : String(Number(x.toFixed(digits))));
const within = (x, error, digits) => (error ? `${number(x, digits)} ± ${number(error, digits)}` : number(x, digits));

function heading(data, node) {
  const fact = (name, text, title) => h("div", { title }, h("dt", {}, name), h("dd", {}, text));
  const [unit, digits] = data.kind === "preflop" ? ["big blinds", 3] : ["chips", 2];
  const own = node.values ? [fact("EV OOP / IP", node.values.map((x) => number(x)).join(" / "), "What each player wins from here on, in chips"), fact("equity", node.equities.map((x) => percent(x, 1)).join(" / "), "Share of the pot if nobody bet any more: OOP, IP"),
    fact("can gain", node.gains.map((x) => number(x)).join(" / "), "What a best response of each player would win more, from here on"), fact("exploitability", `${small(100 * data.exploitability)}% of the pot`, "The mean of what both can gain in the whole spot")]
    : [fact(`wins, ${data.players.join(" / ")}`, data.values.map((x, k) => within(x, data.value_errors[k], digits)).join(" / "), `What each player wins in the whole hand, in ${unit}`),
      fact(data.exact ? "can gain" : data.kind === "three" ? "a responder gains" : "gains preflop", data.gains.map((x, k) => (data.exact ? small(Math.max(x, 0)) : within(x, data.gain_errors[k], digits))).join(" / "), `By other play against the same opponents, in ${unit}`)];
  return h("div", { class: "where" }, h("h1", {}, node.player ? `${node.player} to act` : node.flop ? "The flop comes" : node.kind === "end" ? "The hand is over" : "Choose a card"),
    node.board.length ? h("div", { class: "cardrow", "aria-label": "The board" }, cards(node.board)) : null,
    h("dl", { class: "facts" }, fact("pot", number(node.pot)), fact("reach", percent(node.reach, 1), "Probability that play comes here"), own),
    data.knowledge ? h("p", { class: "hint known" }, [data.knowledge, node.knowledge].filter(Boolean).join(" ")) : null,
    data.stopped ? h("p", { class: "hint" }, node.values ? `Stopped before the target of ${small(100 * data.until)}% of the pot: exploitability says how good this is.` : "Stopped early: the figures above say how good this is.") : null);
}

function actions(data, node) {
  const of = colours(node.actions.map((a) => a.name));
  return h("div", { class: "actions", role: "group", "aria-label": "Choose an action" }, node.actions.map((action, k) =>
    h("a", { class: "action", href: address(data.id, node.line ? `${node.line}, ${action.name}` : action.name), "data-link": true, "data-key": `a${k}`, vars: { "--c": of[k], "--w": `${(100 * action.share).toFixed(1)}%` } },
      h("span", { class: "label" }, action.name), h("span", { class: "num" }, percent(action.share)), h("span", { class: "hint num" }, action.value === null ? "" : `EV ${Number(action.value.toFixed(2))}`), h("span", { class: "under", "aria-hidden": "true" }))));
}

// Hands of one class of the grid, as means over hands as likely as they are here
function classes(player, keep) {
  const found = new Map();
  const add = (sum, x, w) => (x === null ? sum : [sum[0] + w * x, sum[1] + w]);
  player.hands.forEach((hand, i) => {
    if (!keep(i)) return;
    const name = player.classes[i], w = player.shares[i];
    const cell = found.get(name) || { name, weight: 0, count: 0, hands: [], value: [0, 0], equity: [0, 0], p: (player.strategy || []).map(() => [0, 0]), values: (player.action_values || []).map(() => [0, 0]) };
    cell.weight += w; cell.count += player.counts ? player.counts[i] : 1; cell.hands.push(i);
    cell.value = add(cell.value, player.values[i], w);
    cell.equity = add(cell.equity, player.equities[i], w);
    cell.p = cell.p.map((sum, k) => add(sum, player.strategy[k][i], w));
    cell.values = cell.values.map((sum, k) => add(sum, player.action_values[k][i], w));
    found.set(name, cell);
  });
  const mean = ([sum, weight]) => (weight > 0 ? sum / weight : null);
  return [...found.values()].map((cell) => ({ ...cell, value: mean(cell.value), equity: mean(cell.equity), p: cell.p.map(mean), values: cell.values.map(mean) }));
}

function strategyPanel(node, redraw) {
  const player = node.players.find((each) => each.seat === node.seat);
  const names = node.actions.map((a) => a.name);
  const of = colours(names);
  const keep = (i) => (!shown.kind || player.kinds[i] === shown.kind) && (!shown.text || player.hands[i].includes(shown.text) || player.classes[i].startsWith(shown.text));
  const cells = classes(player, keep);
  const equities = player.equities.some((x) => x !== null), kinds = [...new Set(player.kinds)].sort();
  if (!equities && shown.metric === "equity") shown = { ...shown, metric: "strategy" };
  const box = h("div", { class: "detail", "aria-live": "polite" }, h("p", { class: "hint" }, cells.length ? "Point at a hand, or use the arrow keys, to see its numbers here." : "No hand fits the filter."));
  const tell = (cell) => {
    const rows = cell.hands.map((i) => h("tr", {}, h("th", { scope: "row" }, wordNode(player.hands[i])), kinds.length > 1 ? h("td", {}, player.kinds[i]) : null, equities ? h("td", {}, percent(player.equities[i])) : null, h("td", {}, player.values[i] === null ? "–" : Number(player.values[i].toFixed(2))),
      names.map((_, k) => h("td", { class: "mix", vars: { "--c": of[k], "--w": `${(100 * player.strategy[k][i]).toFixed(1)}%` }, title: player.action_values[k][i] === null ? "" : `EV ${player.action_values[k][i].toFixed(2)}` }, percent(player.strategy[k][i])))));
    box.replaceChildren(h("h3", {}, cell.name), h("p", { class: "hint" }, [`${percent(cell.weight)} of the range`, cell.value === null ? "" : `EV ${cell.value.toFixed(2)}`, cell.equity === null ? "" : `equity ${percent(cell.equity)}`].filter(Boolean).join(" · ")), bars(names, cell.p, of, { values: cell.values }),
      h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": `Hands of ${cell.name}` }, h("table", { class: "cross hands" }, h("thead", {}, h("tr", {}, ["hand", kinds.length > 1 ? "makes" : null, equities ? "equity" : null, "EV", ...names].filter(Boolean).map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))));
  };
  const most = Math.max(...cells.map((cell) => cell.weight / cell.count), 1e-300);
  const values = cells.map((cell) => cell.value).filter((x) => x !== null);
  const [low, high] = [Math.min(...values, 0), Math.max(...values, 1e-9)];
  const paint = (button, cell) => {
    const said = shown.metric === "strategy" ? names.map((name, k) => `${name} ${percent(cell.p[k])}`).join(", ") : shown.metric === "value" ? `EV ${cell.value === null ? "–" : cell.value.toFixed(2)}` : `equity ${percent(cell.equity)}`;
    if (shown.metric === "strategy") {
      button.style.setProperty("--split", split(cell.p, of));
      button.style.setProperty("--tall", `${Math.max(6, (100 * cell.weight) / cell.count / most).toFixed(1)}%`);
    } else {
      const share = shown.metric === "value" ? ((cell.value ?? low) - low) / (high - low) : cell.equity || 0;
      button.style.setProperty("--heat", `${(100 * share).toFixed(1)}%`);
      button.classList.toggle("strong", share > 0.55);
    }
    button.setAttribute("aria-label", `${cell.name}: ${said}`);
    button.title = `${cell.name}: ${said}`;
  };
  const tab = (metric, label) => h("button", { type: "button", class: "tab", "data-key": `m${metric}`, "aria-pressed": String(shown.metric === metric), onclick: () => { shown = { ...shown, metric }; redraw(); } }, label);
  return h("section", { class: "panel strategy", "aria-label": `What ${node.player} does` }, h("h2", {}, `What ${node.player} does`),
    h("div", { class: "filters" }, h("span", { class: "tabs" }, tab("strategy", "Strategy"), tab("value", "EV"), equities ? tab("equity", "Equity") : null),
      kinds.length < 2 ? null : h("label", { class: "field" }, h("span", {}, "Hands that make"), h("select", { "data-key": "kind", onchange: (event) => { shown = { ...shown, kind: event.target.value }; redraw(); } }, h("option", { value: "" }, "anything"), kinds.map((kind) => h("option", { value: kind, selected: kind === shown.kind }, kind)))),
      h("label", { class: "field" }, h("span", {}, "Only"), h("input", { "data-key": "only", value: shown.text, maxLength: 4, size: 6, placeholder: "AKs, Ah", onchange: (event) => { shown = { ...shown, text: event.target.value.trim() }; redraw(); } }))),
    shown.metric === "strategy" ? h("div", { class: "legend", "aria-hidden": "true" }, names.map((name, k) => h("span", { vars: { "--c": of[k] } }, name))) : null,
    h("div", { class: "pair" }, grid(cells, "grid", { full: true, label: `Hands of ${node.player}`, paint, tell, kind: shown.metric === "strategy" ? "first" : "heat first" }), box));
}

function rangePanel(player) {
  const cells = classes(player, () => true);
  const line = h("p", { class: "hint one" }, `${player.player}: how likely each hand is here.`);
  const more = (cell) => [cell.equity === null ? "" : `, equity ${percent(cell.equity)}`, cell.value === null ? "" : `, EV ${cell.value.toFixed(2)}`].join("");
  return h("div", { class: "range" }, grid(cells, "grid", { full: true, label: `Range of ${player.player}`, paint: heat(cells), kind: "heat", tell: (cell) => { line.textContent = `${player.player}: ${cell.name} ${percent(cell.weight)}${more(cell)}`; } }), line);
}

// One cell a card: what it brings
function runoutPanel(data, node) {
  const place = h("div", {}, h("p", { class: "hint" }, "Computing what each card brings…"));
  api(`spots/${encodeURIComponent(data.id)}/runouts?${new URLSearchParams({ line: node.line })}`).then((answer) => {
    const by = new Map(answer.cards.map((each) => [each.card, each]));
    const known = answer.cards.some((each) => each.values);
    const values = known ? answer.cards.map((each) => each.values[0]).filter((x) => x !== null) : [];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const detail = h("p", { class: "hint one", "aria-live": "polite" }, known ? "A darker card is better for OOP. Point at a card for its numbers; click it to go on." : "Click a card to go on: what it brings is measured then.");
    const link = (name) => {
      const each = by.get(name);
      if (!each) return h("span", { class: "pick none" }, card(name));
      if (!known) return h("a", { class: "pick runout", href: address(data.id, `${node.line}, ${name}`), "data-link": true, "aria-label": cardText(name), vars: { "--heat": "0%" } }, card(name));
      const share = each.values[0] === null || high - low < 1e-9 ? 0 : (each.values[0] - low) / (high - low);
      const said = `${cardText(name)}: EV ${each.values.map((x) => (x === null ? "–" : x.toFixed(1))).join(" / ")}, equity ${each.equities.map((x) => percent(x)).join(" / ")}${each.player ? `; ${each.player}: ${each.actions.map((a, k) => `${a} ${percent(each.shares[k])}`).join(", ")}` : ""}`;
      const show = () => { detail.textContent = said; };
      return h("a", { class: "pick runout", href: address(data.id, node.line ? `${node.line}, ${name}` : name), "data-link": true, "aria-label": said, title: said, vars: { "--heat": `${(60 * share).toFixed(0)}%` }, onmouseenter: show, onfocus: show }, card(name),
        each.player ? h("span", { class: "mixbar", "aria-hidden": "true", vars: { "--split": split(each.shares, colours(each.actions)) } }) : null);
    };
    place.replaceChildren(h("div", { class: "deck wide" }, [..."shdc"].map((suit) => h("div", { class: "suitrow" }, [..."AKQJT98765432"].map((rank) => link(rank + suit))))), detail);
  }).catch((error) => place.replaceChildren(problem(error)));
  return h("section", { class: "panel", "aria-label": "Cards that may come" }, h("h2", {}, "Cards that may come"), place);
}
