// Strategies: a strategy at one public history, optionally beside another.
import { SLOW, api, bars, cardText, cards, colours, combos, gameName, go, grid, h, heat, isCards, percent, problem, say, signed, small, split, wordNode } from "./dom.js";
import { planView } from "./plan.js";

let shelf = null;
let asked = 0;

const address = (id, path, query) => {
  const rest = new URLSearchParams();
  for (const [key, value] of Object.entries(query || {})) if (value !== null && value !== undefined && value !== "") rest.set(key, value);
  const text = rest.toString();
  return `/look/${[id, ...path].map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
};

export async function look(main, parts, query) {
  const mine = ++asked;
  const late = () => mine !== asked || document.body.dataset.view !== "look";  // the user has moved on
  if (!shelf || !parts.length) shelf = (await api("library")).strategies;
  if (late()) return;
  if (!parts.length) {
    const first = shelf.find((each) => each.kind !== "made") || shelf[0];
    return go(address(first.id, []), true);
  }
  const [id, ...path] = parts;
  const other = query.get("with");
  const deal = query.get("deal");
  const search = new URLSearchParams();
  path.forEach((word) => search.append("step", word));
  if (other) search.set("with", other);
  if (deal !== null) search.set("deal", deal);
  if (query.get("view") === "list") return list(main, id, query, late);
  if (query.get("view") === "plan") return plan(main, id, query, late);
  main.setAttribute("aria-busy", "true");
  if (!main.firstChild) main.append(frame(id, other, path, query), h("p", { class: "waiting" }, `Loading the strategy… ${SLOW}`));
  let node;
  try { node = await api(`look/${encodeURIComponent(id)}?${search}`); } catch (error) {
    if (late()) return;
    main.removeAttribute("aria-busy");
    main.replaceChildren(frame(id, other, path, query), problem(error, path.length ? address(id, [], { with: other }) : null));
    return;
  }
  if (late()) return;
  main.removeAttribute("aria-busy");
  const held = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
  main.replaceChildren(frame(id, other, path, query), crumbs(node, id, other, deal), body(node, id, other, deal));
  const again = held && main.querySelector(`[data-key="${CSS.escape(held)}"]`);
  if (again) again.focus({ preventScroll: true });
  document.title = `${node.name} · kibitz`;
  say(`${node.kind === "decision" ? `Player ${node.seat} to act` : node.kind === "end" ? "The hand is over" : "Choose the cards"}`);
  if (node.why.startsWith("being")) setTimeout(() => { if (!late()) look(main, parts, query); }, 1500);
}

function options(selected, filter, empty) {
  const groups = new Map();
  for (const each of shelf.filter(filter)) {
    const name = gameName(each.game);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(each);
  }
  return [empty ? h("option", { value: "", selected: !selected }, empty) : null,
    ...[...groups].map(([name, some]) => h("optgroup", { label: name }, some.map((each) => h("option", { value: each.id, selected: each.id === selected }, each.name + (each.stitched ? " (stitched)" : "")))))];
}

function frame(id, other, path, query) {
  const entry = shelf.find((each) => each.id === id);
  const list = query.get("view") === "list";
  return h("div", { class: "bar-top" },
    h("label", { class: "field" }, h("span", {}, "Strategy"), h("select", { id: "strategy", "data-key": "strategy", onchange: (e) => go(address(e.target.value, [])) }, options(id, () => true))),
    h("label", { class: "field" }, h("span", {}, "Compare with"), h("select", { id: "other", "data-key": "other", onchange: (e) => go(address(id, path, { with: e.target.value })) },
      options(other, (each) => entry && each.game === entry.game && each.id !== id, "nothing"))),
    h("div", { class: "field links" }, h("span", {}, "Show as"),
      h("span", { class: "tabs" }, h("a", { href: address(id, path, { with: other }), "data-link": true, "aria-current": query.get("view") ? null : "true" }, "tree"),
        h("a", { href: address(id, [], { view: "list" }), "data-link": true, "aria-current": list ? "true" : null }, "list"),
        entry && entry.planned ? h("a", { href: address(id, [], { view: "plan" }), "data-link": true, "aria-current": query.get("view") === "plan" ? "true" : null }, "plan") : null)));
}

function crumbs(node, id, other, deal) {
  const link = (k) => address(id, node.path.slice(0, k), { with: other, deal });
  const items = [h("li", {}, h("a", { href: link(0), "data-link": true }, "start"))];
  node.steps.forEach((step, k) => {
    const last = k === node.steps.length - 1;
    items.push(h("li", { class: step.seat < 0 ? "chance" : `seat${step.seat % 3}` },
      h("a", { href: link(k + 1), "data-link": true, "aria-current": last ? "step" : null },
        step.seat >= 0 ? h("span", { class: "who" }, `${step.seat}`) : null, wordNode(step.word))));
  });
  return h("nav", { class: "crumbs", "aria-label": "Actions so far" }, h("ol", {}, items));
}

function heading(node) {
  const what = node.kind === "decision" ? `Player ${node.seat} to act` : node.kind === "end" ? "The hand is over" : "Choose the cards";
  const facts = node.facts.map((fact) => h("div", {}, h("dt", {}, fact.name), h("dd", {}, fact.text)));
  facts.push(h("div", { title: "Probability that the players act this way, given the public cards" }, h("dt", {}, "reach"), h("dd", {}, node.reach === null ? "not computed" : percent(node.reach, node.reach < 0.1 && node.reach > 0 ? 2 : 1))));
  if (node.kind === "decision") facts.push(h("div", { title: node.why || "Expected payoff of the seat to act from here, in chips" }, h("dt", {}, "expected value"), h("dd", {}, node.value === null ? node.why.split(":")[0] : signed(node.value))));
  if (node.kind === "end" && node.payoffs) facts.push(h("div", {}, h("dt", {}, "payoffs"), h("dd", {}, node.payoffs.map((x) => signed(x, 2)).join(" / "))));
  return h("div", { class: "where" }, h("h1", {}, what, node.expert ? h("span", { class: "badge" }, `expert ${node.expert}`) : null),
    node.board.length ? h("div", { class: "cardrow", "aria-label": "The board" }, cards(node.board)) : null, h("dl", { class: "facts" }, facts));
}

function actions(node, id, other, deal) {
  const of = colours(node.actions.map((a) => a.name));
  return h("div", { class: "actions", role: "group", "aria-label": "Choose an action" }, node.actions.map((action, k) =>
    h("a", { class: "action", href: address(id, [...node.path, action.name], { with: other, deal }), "data-link": true, "data-key": `a${k}`, vars: { "--c": of[k], "--w": `${(100 * action.share).toFixed(1)}%` } },
      h("span", { class: "label" }, wordNode(action.label)), h("span", { class: "num" }, percent(action.share)),
      h("span", { class: "under", "aria-hidden": "true" }),
      action.expert && action.expert !== node.expert ? h("span", { class: "badge takes" }, "expert plays from here") : null)));
}

function board(node, id, other) {
  const { choices } = node;
  if (choices.words) {
    return h("div", { class: "panel" }, h("h2", {}, "Which card is dealt?"), h("div", { class: "deck" }, choices.words.map((word) =>
      h("a", { class: "pick", href: address(id, [...node.path, word], { with: other }), "data-link": true, "aria-label": cardText(word) }, cards([word])))));
  }
  const chosen = [];
  const say = h("p", { class: "hint" }, `Choose ${choices.due} card${choices.due > 1 ? "s" : ""}, or deal at random.`);
  const take = (names) => go(address(id, [...node.path, names.join("")], { with: other }));
  const deal = () => {
    const left = choices.deck.filter((name) => !chosen.includes(name));
    while (chosen.length < choices.due) chosen.push(left.splice(Math.floor(Math.random() * left.length), 1)[0]);
    take(chosen);
  };
  const suits = ["s", "h", "d", "c"];
  return h("div", { class: "panel" }, h("h2", {}, "Which cards are dealt?"), say, h("p", {}, h("button", { class: "main", type: "button", "data-key": "deal", onclick: deal }, "Deal at random")),
    h("div", { class: "deck wide" }, suits.map((suit) => h("div", { class: "suitrow" }, choices.deck.filter((name) => name[1] === suit).reverse().map((name) =>
      h("button", { class: "pick", type: "button", "aria-pressed": "false", "aria-label": cardText(name), onclick: (event) => {
        const at = chosen.indexOf(name);
        if (at >= 0) chosen.splice(at, 1); else chosen.push(name);
        event.currentTarget.setAttribute("aria-pressed", String(at < 0));
        if (chosen.length === choices.due) take(chosen);
      } }, cards([name])))))));
}

function painter(node, of) {
  const most = Math.max(...node.cells.map((cell) => cell.weight / (cell.count || 1)), 1e-300);
  const reached = node.cells.some((cell) => cell.weight > 0);
  return (button, cell) => {
    const share = reached ? cell.weight / (cell.count || 1) / most : 1;
    button.style.setProperty("--split", split(cell.p, of));
    button.style.setProperty("--tall", `${Math.max(share > 0 ? 6 : 0, 100 * share).toFixed(1)}%`);
    const said = node.actions.map((a, k) => (cell.p[k] === null ? null : `${a.label} ${percent(cell.p[k])}`)).filter(Boolean).join(", ");
    button.setAttribute("aria-label", `${cardText(cell.name)}: ${said}`);
    button.title = `${cardText(cell.name)}: ${said}`;
    if (cell.expert) button.classList.add("expert");
  };
}

function detail(node, of) {
  const box = h("div", { class: "detail", "aria-live": "polite" }, h("p", { class: "hint" }, "Point at a hand, or use the arrow keys, to see its numbers here."));
  const labels = node.actions.map((a) => a.label);
  const tell = (cell) => {
    const facts = [`${percent(cell.weight)} of the range`];
    if (cell.count > 1) facts.push(`${cell.count} hands`);
    if (cell.value !== null) facts.push(`value ${signed(cell.value)}`);
    if (cell.expert) facts.push(`expert ${cell.expert}`);
    box.replaceChildren(h("h3", {}, wordNode(cell.name)), h("p", { class: "hint" }, facts.join(" · ")), bars(labels, cell.p, of, { values: cell.values }));
  };
  return [box, tell];
}

function strategyPanel(node, title, key) {
  const of = colours(node.actions.map((a) => a.name));
  const [box, tell] = detail(node, of);
  return h("section", { class: "panel strategy", "aria-label": title }, h("h2", {}, title),
    h("div", { class: "legend", "aria-hidden": "true" }, node.actions.slice(0, 14).map((a, k) => h("span", { vars: { "--c": of[k] } }, wordNode(a.label)))),
    h("div", { class: "pair" }, grid(node.cells, node.layout, { label: title, paint: painter(node, of), tell, kind: key }), box));
}

function rangePanel(range, players) {
  const cells = range.cells.map((cell) => ({ ...cell, count: combos(cell.name) }));
  const line = h("p", { class: "hint one" }, `Player ${range.seat}: probability of each hand.`);
  return h("div", { class: "range" }, grid(cells, range.layout, { label: `Range of player ${range.seat}`, paint: heat(cells), kind: "heat",
    tell: (cell) => { line.textContent = `Player ${range.seat}: ${cardText(cell.name)} ${percent(cell.weight)}`; } }), line);
}

function differencePanel(node) {
  const { difference, other } = node;
  const of = colours(node.actions.map((a) => a.name));
  const names = node.actions.map((a) => a.label);
  const line = h("div", { class: "detail" }, h("p", { class: "hint" }, "Point at a hand to see which actions the second strategy takes more or less often."));
  const paint = (button, cell) => {
    button.style.setProperty("--heat", `${(100 * cell.distance).toFixed(1)}%`);
    button.classList.toggle("strong", cell.distance > 0.55);
    button.setAttribute("aria-label", `${cardText(cell.name)}: ${percent(cell.distance)} apart`);
    button.title = `${cardText(cell.name)}: ${percent(cell.distance)} apart`;
  };
  const tell = (cell) => line.replaceChildren(h("h3", {}, wordNode(cell.name)), h("p", { class: "hint" }, `total variation distance ${percent(cell.distance)}`),
    h("ul", { class: "moved" }, names.map((name, k) => h("li", { vars: { "--c": of[k] } }, wordNode(name), h("span", { class: "num" }, `${signed(100 * cell.moved[k], 1)} points`)))));
  return h("section", { class: "panel", "aria-label": "Differences" }, h("h2", {}, "Differences"),
    h("p", { class: "hint" }, difference.mean === null ? "Neither strategy reaches this point." : `Average total variation distance: ${percent(difference.mean, 1)}. It is 0% for equal strategies and 100% for strategies with no action in common.`),
    h("div", { class: "pair" }, grid(difference.cells, node.layout, { label: "Differences", paint, tell, kind: "heat apart" }), line));
}

const compared = new Map();
function mostPanel(id, other) {
  const place = h("div", {}, h("p", { class: "hint" }, "Computing\u2026"));
  const key = `${id} ${other}`;
  if (!compared.has(key)) compared.set(key, api(`diff/${encodeURIComponent(id)}?with=${encodeURIComponent(other)}`));
  compared.get(key).then((found) => {
    const figures = found.names.map((name, k) => h("li", {}, `${name}: NashConv ${small(found.nash_conv[k])}, exploitability ${small(found.exploitability[k])}`));
    const rows = found.rows.map((row) => h("tr", {}, h("th", { scope: "row" }, `${row.seat}  ${row.infoset}`), h("td", {}, small(row.reach)), h("td", {}, percent(row.distance, 1)), h("td", {}, small(row.weight)), h("td", {}, row.one), h("td", {}, row.other)));
    place.replaceChildren(h("ul", { class: "figures" }, figures), h("p", { class: "hint" }, "Infosets, sorted by weight = reach × distance. Reach is the probability that play gets there. Distance is the total variation distance between the two strategies."),
      h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Infosets that differ most" }, h("table", { class: "cross" }, h("thead", {}, h("tr", {}, ["seat, infoset", "reach", "distance", "weight", ...found.names].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))));
  }).catch((error) => { compared.delete(key); place.replaceChildren(problem(error)); });
  return h("section", { class: "panel", "aria-label": "Where they differ most" }, h("h2", {}, "Where they differ most"), place);
}

function body(node, id, other, deal) {
  const made = h("div", { class: "look" }, heading(node));
  if (node.deal !== null) made.append(h("p", { class: "hint dealt" }, "There are too many deals to show all at once. This is one of them. ",
    h("a", { href: address(id, [], { with: other, deal: Number(node.deal) + 1 }), "data-link": true, "data-key": "nextdeal" }, "Another deal")));
  if (node.kind === "decision") {
    made.append(actions(node, id, other, deal));
    if (node.why && node.value === null) made.append(h("p", { class: "hint why" }, `Expected value ${node.why}.`));
    const panels = h("div", { class: `panels${node.other ? " compare" : ""}` }, strategyPanel(node, node.other ? node.name : `What player ${node.seat} does`, "first"));
    if (node.other) panels.append(strategyPanel(node.other, node.other.name, "second"), differencePanel(node));
    made.append(panels);
  } else if (node.kind === "chance") made.append(board(node, id, other));
  const ranges = (title, of) => h("section", { class: "panel ranges", "aria-label": title }, h("h2", {}, title), h("div", { class: "rangerow" }, of.ranges.map((range) => rangePanel(range, node.players))));
  made.append(ranges(node.other ? `Ranges of ${node.name}` : "Ranges", node));
  if (node.other) made.append(ranges(`Ranges of ${node.other.name}`, node.other));
  if (node.kind === "decision" && node.other) made.append(mostPanel(id, other));  // last: it comes late and would move what is below
  return made;
}

// All infosets as a list

async function plan(main, id, query, late) {
  const head = frame(id, null, [], query);
  let data;
  try { data = await api(`plan/${encodeURIComponent(id)}`); } catch (error) {
    if (!late()) main.replaceChildren(head, problem(error));
    return;
  }
  if (late()) return;
  main.replaceChildren(head, planView(data));
  document.title = `Plan of ${data.name} · kibitz`;
  say("The plan of the strategy");
}

async function list(main, id, query, late) {
  const seat = query.get("seat") || "0", text = query.get("text") || "", page = Number(query.get("page") || 0);
  const to = (more) => address(id, [], { view: "list", seat, text, page, ...more });
  const head = frame(id, null, [], query);
  let data;
  try { data = await api(`infosets/${encodeURIComponent(id)}?${new URLSearchParams({ seat, text, page })}`); } catch (error) {
    if (!late()) main.replaceChildren(head, problem(error));
    return;
  }
  if (late()) return;
  const form = h("form", { class: "bar-top", onsubmit: (event) => { event.preventDefault(); go(to({ text: event.target.elements.text.value, page: 0 })); } },
    h("label", { class: "field" }, h("span", {}, "Infosets that contain"), h("input", { name: "text", value: text, maxLength: 80, autocomplete: "off" })),
    h("label", { class: "field" }, h("span", {}, "Player"), h("select", { onchange: (event) => go(to({ seat: event.target.value, page: 0 })) }, Array.from({ length: data.seats }, (_, k) => h("option", { value: String(k), selected: String(k) === seat }, String(k))))),
    h("div", { class: "field links" }, h("span", {}, `Page ${page + 1}`), h("span", { class: "tabs" }, page ? h("a", { href: to({ page: page - 1 }), "data-link": true }, "previous") : null, data.more ? h("a", { href: to({ page: page + 1 }), "data-link": true }, "next") : null)));
  const rows = data.rows.map((row) => {
    const of = colours(row.actions);
    return h("li", { class: "panel infoset" }, h("div", { class: "infohead" }, h("code", {}, row.infoset), h("span", { class: "hint" }, row.reach === null ? "" : (row.reach === 0 ? "never reached" : `reach ${small(row.reach)}`))), bars(row.actions, row.p, of, { values: row.values }));
  });
  main.replaceChildren(head, form, rows.length ? h("ul", { class: "infosets" }, rows) : h("p", { class: "panel" }, "No infoset contains this text."));
}
