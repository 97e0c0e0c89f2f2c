"use strict";
/* The status page. Everything from the server becomes text: no markup is made of it anywhere. */

const STATUSES = {
  admitted: ["Admitted", "good"], rejected: ["Rejected", "bad"],
  device_rejected: ["Refused by BIG-IP", "bad"], pending: ["Pending", "wait"],
};
const ORDERS = {trouble: "Trouble first", host: "Host and path", object: "Source object", service: "Service", members: "Number of members", certificate: "Certificate, first to expire"};
const PER_PAGE = 50, REFRESH_MS = 1000, TYPING_MS = 250, AGAIN_MS = 5000, TICK_MS = 5000, RECONNECT_MS = 30000, ANSWER_MS = 8000, CHECK_MS = 5000, LOOK_MS = 10000, MOST_BOXES = 8;

const byId = (id) => document.getElementById(id);
const view = byId("view");
let asked = 0;        // number of the newest request: answers to older ones are dropped
let shownText = "";   // what is shown, as the server wrote it
let shownAt = "";     // the address of it
let timer = 0;

/* ---- elements ---------------------------------------------------------------------- */

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of (children || []).flat(2)) {
    if (child === null || child === undefined || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const badge = (text, kind) => el("span", {class: `badge ${kind || ""}`}, text);
const STATES = {unanswered: ["Served, but nothing answers", "bad"], failing: ["Requests fail", "bad"], warned: ["Served", "wait"], served: ["Served", "good"]};
const stateOf = (route) => STATES[route.state] || STATUSES[route.status] || [route.status, ""];
function stateBadge(state) {
  return state === "in place" ? badge("in place", "good") : badge(state, state === "differs" ? "wait" : "bad");
}
function time(text) {
  return text ? el("time", {class: "ago", datetime: text, title: new Date(text).toLocaleString()}, since(text)) : "–";
}
// A text of the router with its times in the reader's own form; the exact ones are titles.
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
function dated(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(TIME)) {
    if (Number.isNaN(Date.parse(found[0]))) continue;
    parts.push(text.slice(end, found.index), el("time", {datetime: found[0], title: found[0]},
      new Date(found[0]).toLocaleString([], {dateStyle: "medium", timeStyle: "short"})));
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}
function until(day) {
  const days = Math.floor((Date.parse(day) - Date.now()) / 86400000) + 1;
  return [`${days < 0 ? "ended on" : "until"} ${day} `, days < 0 ? badge("expired", "bad") : badge(`${plural(days, "day")} left`, days <= 14 ? "wait" : "good")];
}
const since = (text) => ago((Date.now() - new Date(text).getTime()) / 1000);
function ago(seconds) {
  if (seconds < 5) return "now";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]])
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  return `${Math.floor(seconds)} s ago`;
}
function facts(pairs) {
  return el("dl", {}, pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
    .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
const card = (title, ...content) => el("section", {class: "card padded"}, el("h3", {}, title), content);
const plural = (number, word) => `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}`;

function table(columns, rows, empty) {
  if (!rows.length) return el("p", {class: "empty"}, empty);
  // The roles are those of the elements: on a narrow screen, where they are no table for the style, they stay.
  return el("table", {class: "cards", role: "table"},
    el("thead", {role: "rowgroup"}, el("tr", {role: "row"}, columns.map(([title, kind]) => el("th", {
      scope: "col", role: "columnheader", class: kind}, title)))),
    el("tbody", {role: "rowgroup"}, rows.map((cells) => el("tr", {role: "row"}, cells.map((cell, at) => el("td", {
      role: "cell", class: columns[at][1], "data-label": columns[at][2]}, cell))))));
// A column is a title, classes of its cells, and the title that a narrow screen shows beside the cell.
}
function pager(answer, word, go) {
  const pages = Math.max(1, Math.ceil(answer.total / answer.per_page));
  const button = (text, page, enabled) => el("button", {
    type: "button", "data-key": text, disabled: !enabled, onclick: () => go(page)}, text);
  return el("div", {class: "pager"},
    el("span", {}, `${plural(answer.total, word)}, page ${answer.page.toLocaleString()} of ${pages.toLocaleString()}`),
    el("span", {}, button("Previous", answer.page - 1, answer.page > 1),
      button("Next", answer.page + 1, answer.page < pages)));
}

/* ---- addresses --------------------------------------------------------------------- */

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return {path: (path || "routes").split("/").map(decode), query: new URLSearchParams(query || "")};
}
function decode(text) {
  try { return decodeURIComponent(text); } catch (error) { return text; }
}
function go(path, query) {
  location.hash = address(path, query);
}
function address(path, query) {
  const kept = new URLSearchParams([...query].filter(([, value]) => value));
  return `#/${path}${kept.size ? `?${kept}` : ""}`;
}
// Each letter would be a step of the way back otherwise.
const typed = (path, changes) => later(() => location.replace(address(path, changed(place().query, changes))), TYPING_MS);
function changed(query, changes) {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries({page: "", ...changes})) next.set(name, value);
  return next;
}
const routeAddress = (route) => address(`routes/${encodeURIComponent(route.namespace)}/${encodeURIComponent(route.id)}`,
  new URLSearchParams({front_end: route.front_end}));
const sourceOf = (route) => `${route.source_namespace || route.namespace}/${route.name}`;
const onFrontEnd = (route) => route.front_end ? ` on front end ${route.front_end}` : "";

/* ---- views ------------------------------------------------------------------------- */

const VIEWS = {
  routes: {
    url: ({path, query}) => path.length > 2
      ? `api/v1/routes/${encodeURIComponent(path[1])}/${encodeURIComponent(path[2])}${query.size ? `?${query}` : ""}`
      : `api/v1/routes?${changed(query, {page: query.get("page") || "1", per_page: PER_PAGE})}`,
    show: (answer, at) => at.path.length > 2 ? showRoute(answer) : showRoutes(answer, at.query),
  },
  nodes: {
    url: ({query}) => `api/v1/nodes?${changed(query, {page: query.get("page") || "1", per_page: PER_PAGE})}`,
    show: (answer, at) => showNodes(answer, at.query),
  },
  changes: {url: () => "api/v1/changes", show: showChanges},
  device: {url: () => "api/v1/device", show: showDevice},
};

function searchField(path, query, label) {
  return el("label", {}, el("span", {class: "hidden"}, label), el("input", {
    type: "search", id: "search", "data-key": "search", placeholder: label, value: query.get("search") || "",
    autocomplete: "off", spellcheck: "false", maxlength: 253, oninput: (event) => typed(path, {search: event.target.value.trim()})}));
}

function showRoutes(answer, query) {
  const chosen = query.get("warned") ? "warned" : query.get("state") || query.get("status") || "", counts = answer.counts, states = answer.states;
  const failed = states.unanswered + states.failing + states.device_rejected + states.rejected;
  const sorted = query.get("sort") || "trouble";
  const by = (order, title) => el("button", {type: "button", class: "sort", "data-key": `sort ${order}`, "aria-pressed": String(sorted.replace("-", "") === order),
    onclick: () => go("routes", changed(query, {sort: sorted === order ? `-${order}` : order}))}, title,
    sorted === order ? " ↓" : sorted === `-${order}` ? " ↑" : "");
  const sorting = el("div", {class: "sorting"}, el("label", {}, el("span", {class: "hidden"}, "Sort by"), el("select", {"data-key": "order",
    onchange: (event) => go("routes", changed(query, {sort: event.target.value}))}, Object.entries(ORDERS).map(([order, title]) =>
    el("option", {value: order, selected: sorted.replace("-", "") === order}, title)))), el("button", {type: "button", "data-key": "turn", "aria-label": "Turn the order round",
    "aria-pressed": String(sorted.startsWith("-")), onclick: () => go("routes", changed(query, {sort: sorted.startsWith("-") ? sorted.slice(1) : `-${sorted}`}))}, sorted.startsWith("-") ? "↑" : "↓"));
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const chip = (status, text, count) => el("button", {
    type: "button", "data-key": `status ${status}`, "aria-pressed": String(chosen === status),
    onclick: () => go("routes", changed(query, {status: "", state: "", warned: "", ...(status === "warned" ? {warned: "true"} : ["failed", "answered"].includes(status) ? {state: status} : {status})}))}, text, el("span", {class: "count"}, count.toLocaleString()));
  const rows = answer.items.map((route) => [
    [el("a", {class: "strong", href: routeAddress(route), "data-key": `${route.namespace}/${route.id}${onFrontEnd(route)}`},
      `${route.host || "(no host)"}${route.path}`),
      el("span", {class: "under"}, route.termination || "http")],
    badge(...stateOf(route)),
    [sourceOf(route), el("span", {class: "under"}, `${route.kind}${onFrontEnd(route)}`)],
    [route.services.join(", "), el("span", {class: "under keep"}, plural(route.members, "member"))],
    expiry(route),
    route.problem ? el("span", {class: "wrong"}, dated(`${route.problem.link === "route" ? "" : `${route.problem.link}: `}${route.problem.text}`))
      : route.warnings ? plural(route.warnings, "warning") : "",
  ]);
  return [
    el("h2", {class: `sentence ${failed ? "wrong" : ""}`}, answer.summary || "Routes"),
    el("div", {class: "filters", role: "search"},
      searchField("routes", query, "Search host, path, name or Service"),
      el("label", {class: "narrow"}, el("span", {class: "hidden"}, "Namespace"), el("input", {
        type: "text", id: "namespace", "data-key": "namespace", placeholder: "Namespace", autocomplete: "off",
        spellcheck: "false", maxlength: 253, value: query.get("namespace") || "",
        oninput: (event) => typed("routes", {namespace: event.target.value.trim()})})),
      el("div", {class: "chips", role: "group", "aria-label": "Status"}, chip("", "All", all), chip("failed", "Requests fail", failed),
        chip("answered", "Served", states.served + states.warned),
        Object.entries(STATUSES).slice(1).map(([status, [text]]) => chip(status, text, counts[status] || 0)),
        chip("warned", "With warnings", answer.warned)), sorting),
    el("div", {class: "card"}, table(
      [[by("host", "Host and path"), "host wide any"], [by("trouble", "Status"), "wide keep"], [by("object", "Source object"), "source wide any"], [by("service", "Service"), "wide any"],
        [by("certificate", "Certificate"), "wide keep", "Certificate"], ["Problem", "wide any problem"]],
      rows, !all ? "No Route matches." : chosen === "warned" ? "No Route has warnings." : "No Route has this status.")),
    pager(answer, "Route", (page) => go("routes", changed(query, {page}))),
  ];
}
function expiry(route) {
  if (route.certificate_days_left === null) return "";
  const days = route.certificate_days_left;
  return el("span", {class: days < 14 ? "wrong" : "", title: route.certificate_expires},
    days < 0 ? "expired" : `${plural(days, "day")} left`);
}

function showRoute(route) {
  const pool = route.pool, certificate = route.certificate;
  const told = route.problems.map((problem) => problem.text).join("\n");
  const remarks = [...route.warnings, route.problems.length ? "" : route.message].filter((text) =>
    text && !told.includes(text) && !route.problems.some((problem) => text.endsWith(problem.text)));
  const picture = el("div", {class: "card picture", tabindex: "0", role: "group", "aria-label": "Picture of the Route"});
  picture.append(drawRoute(route, Math.max(view.clientWidth - 34, 280)));
  return [
    el("a", {class: "back", href: "#/routes", "data-key": "back", onclick: (event) => {
      if (history.length > 1 && cameFromList) { event.preventDefault(); history.back(); }
    }}, "← All Routes"),
    el("div", {class: "title"}, el("h2", {}, `${route.host || "(no host)"}${route.path}`), badge(...stateOf(route))),
    el("p", {class: "subtitle"}, `${route.kind} ${sourceOf(route)}${onFrontEnd(route)}${route.field ? `, ${route.field}` : ""}`),
    route.problems.length ? el("ul", {class: "problems", "aria-label": "Problems"}, route.problems.map((problem) =>
      el("li", {}, el("strong", {}, `${problem.link}: `), dated(problem.text), problem.text.startsWith(problem.code) ? "" : ` (${problem.code})`))) : "",
    route.to_do ? el("p", {class: "problems notes"}, el("strong", {}, "To do: "), route.to_do) : "",
    remarks.length ? el("ul", {class: "problems notes", "aria-label": "Remarks"},
      remarks.map((text) => el("li", {}, dated(text)))) : "",
    picture,
    el("div", {class: "pair"},
      card("Route", facts([
        ["Status", [STATUSES[route.status][0], route.reason ? ` (${route.reason})` : ""]],
        ["Since", route.since && time(route.since)], ["Created", time(route.created)],
        ["TLS", route.termination || "none"], ["Port 80", route.insecure],
        ["Services", route.services.map((service) => el("div", {},
          service.name, service.port ? ` port ${service.port}` : "",
          route.services.length > 1 ? `, weight ${service.weight}` : ""))],
      ])),
      card("Certificate", certificate ? facts([
        ["Problem", certificate.problem && el("span", {class: "wrong"}, dated(certificate.problem))],
        ["Subject", certificate.subject], ["Names", certificate.names.join(", ")], ["Issuer", certificate.issuer],
        ["Valid", certificate.not_after && dated(`${certificate.not_before} to ${certificate.not_after}`)],
        ["Days left", certificate.not_after && (certificate.days_left < 0 ? `expired ${plural(-certificate.days_left, "day")} ago` : certificate.days_left.toLocaleString())],
      ]) : el("p", {class: "soft"}, route.termination === "passthrough" ? "TLS goes to the pods untouched."
        : route.termination ? "The virtual server's own certificate answers." : "Without TLS."))),
    el("section", {class: "card"}, el("h3", {class: "hidden"}, "Events"), table(
      [["Event", "any"], ["When", "keep"], ["Text", "wide any"], ["Count", "number", "Count"]],
      route.events.map((event) => [el("span", {class: "strong"}, event.reason), time(event.at), dated(event.message), event.count.toLocaleString()]),
      "No Events since this router started.")),
    pool ? el("section", {class: "card pair-free"}, el("h3", {class: "hidden"}, "Pool members"), table(
      [["Member", "any"], ["On the BIG-IP", "keep"], ["Health", "keep", "Health"], ["Ratio", "number", "Ratio"], ["Node", "wide", "Node"]],
      pool.members.map((member) => [
        [el("span", {class: "mono"}, `${member.address} port ${member.port}`),
          member.session === "enabled" ? "" : el("span", {class: "under"}, member.session.replace("_", " "))],
        stateBadge(member.state), health(member.health), member.ratio,
        [member.node || "–", member.node_problem ? el("span", {class: "under wrong"}, member.node_problem) : ""],
      ]), "The pool has no members.")) : "",
    route.options.length ? card("Options", facts(route.options.map((option) => [option.name, option.value]))) : "",
    el("section", {class: "card"}, el("h3", {class: "hidden"}, "Objects on the BIG-IP"), table(
      [["Object on the BIG-IP", "any"], ["State", "keep"], ["What it does", "wide any"]],
      [...route.rules.map((rule) => [el("span", {class: "mono"}, `${rule.container}: ${rule.name}`),
        stateBadge(rule.state), `${rule.conditions}: ${rule.action}`]),
      ...(pool ? [[el("span", {class: "mono"}, pool.path), stateBadge(pool.state), pool.load_balancing]] : []),
      ...route.objects.map((object) => [el("span", {class: "mono"}, object.path), stateBadge(object.state),
        object.problem || object.kind])], "Nothing of it is on the BIG-IP.")),
  ];
}
function health(state) {
  if (!state) return "–";
  return badge(state, {up: "good", down: "bad"}[state] || "");
}

function showNodes(answer, query) {
  return [
    el("h2", {class: "hidden"}, "Nodes"),
    el("div", {class: "filters", role: "search"}, searchField("nodes", query, "Search name or address")),
    el("div", {class: "card"}, table(
      [["Node", "any"], ["State", "keep"], ["Addresses", "wide any"], ["Pods", "wide any", "Pods"], ["FDB record or route", "wide any"]],
      answer.items.map((node) => [
        [el("span", {class: "strong"}, node.name), node.problem ? el("span", {class: "under wrong"}, node.problem) : ""],
        node.ready ? badge(node.schedulable ? "Ready" : "Ready, unschedulable", "good") : badge("Not ready", "bad"),
        el("span", {class: "mono"}, node.addresses.join(", ")),
        el("span", {class: "mono"}, node.networks.join(", ")),
        node.ways.map((way) => el("div", {}, el("span", {class: "mono"}, `${way.name} → ${way.target} `),
          stateBadge(way.state))),
      ]), "No Nodes are known. The router reads them where it needs them: with VxLAN, static routes or node ports.")),
    pager(answer, "Node", (page) => go("nodes", changed(query, {page}))),
  ];
}

function showChanges(answer) {
  return [
    el("h2", {class: "hidden"}, "Changes"),
    el("div", {class: "card"}, table(
      [["Cause", "any"], ["When", "keep"], ["Objects", "wide any"], ["REST calls", "number", "REST calls"], ["Duration", "number", "Duration"]],
      answer.items.map((change) => [
        [el("span", {class: "strong"}, change.causes.join(", ") || "settings", change.has_more_causes ? " and others" : ""),
          change.problem ? el("span", {class: "under wrong"}, dated(change.problem)) : "",
          change.refused ? el("span", {class: "under wrong"}, `${plural(change.refused, "object")} refused`) : ""],
        time(change.at),
        [change.objects.slice(0, 3).map((text) => el("div", {class: "mono"}, text)),
          change.writes > 3 ? el("span", {class: "under"}, `${plural(change.writes, "write")} in all`) : ""],
        change.calls === null ? "–" : change.calls.toLocaleString(),
        change.seconds === null ? "–" : change.seconds < 1 ? `${Math.round(change.seconds * 1000)} ms` : `${change.seconds.toFixed(1)} s`,
      ]), "Nothing has been written since the start.")),
    el("p", {class: "pager"}, "The last 100 changes since the start."),
  ];
}

function showDevice(device) {
  const yes = (value, words) => value === null ? "" : value ? badge(words[0], "good") : badge(words[1], "wait");
  const unknown = el("span", {class: "soft"}, device.leader === false ? "known to the leader" : "not known yet");
  const known = (value, text) => value === null ? unknown.cloneNode(true) : value === "" ? "cannot be read" : text === undefined ? value : text;
  const licence = device.licence, ahead = device.clock_ahead_s;
  return [
    el("h2", {class: "hidden"}, "Device"),
    el("div", {class: "pair first"},
      card("BIG-IP", facts([
        ["Addresses", device.addresses.join(", ")], ["In use", device.addresses.length > 1 ? device.unit : ""],
        ["TMOS", known(device.tmos || null)],
        ["LTM", known(device.ltm, device.ltm === "none" ? badge("not provisioned", "bad") : `provisioned, ${device.ltm}`)],
        ["Licence", known(licence, licence && (!licence.exists ? badge("none", "bad") : licence.ends ? until(licence.ends) : "without an end"))],
        ["Clock", known(ahead, Math.abs(ahead) < 1 ? "agrees with the router's" : `${Math.round(Math.abs(ahead)).toLocaleString()} s ${ahead > 0 ? "ahead of" : "behind"} the router's`)],
        ["Router's user", known(device.role)],
        ["Failover", known(device.active, yes(device.active, ["active", "standby"]))],
        ["Config sync", device.sync || known(device.has_group, "no device group")],
        ["Configuration", [known(device.save || null), device.last_save ? [" (last save ", time(device.last_save), ")"] : ""]],
        ["Last reading", known(device.last_reading || null, time(device.last_reading))],
        ["REST calls", Object.entries(device.requests).map(([method, count]) => `${method} ${count.toLocaleString()}`).join(", ")],
      ])),
      card("Router", facts([
        ["Name", device.router], ["Version", device.version], ["Leader", yes(device.leader, ["leads", "follows"])],
        ["Election", device.election],
        ["Queues", Object.entries(device.queues).map(([name, length]) => `${name} ${length.toLocaleString()}`).join(", ")],
      ]))),
    el("section", {class: "card"}, table([["Check", "any"], ["State", "keep"], ["Remark", "wide any"]],
      device.checks.map((check) => [check.name, check.problem ? badge("failed", "bad") : check.warns ? badge("warning", "wait") : badge("ok", "good"),
        check.problem || check.warns ? el("span", {class: "wrong"}, dated(check.problem || check.note)) : dated(check.note)]), "No checks.")),
  ];
}

/* ---- picture of a Route ------------------------------------------------------------ */

function drawRoute(route, width) {
  const columns = chain(route);
  const upright = width < 760, gap = upright ? 34 : 36, tall = 62;
  const wide = upright ? Math.min(220, Math.floor((width - 24) / 2))
    : Math.max(118, Math.floor((width - gap * (columns.length - 1)) / columns.length));
  const most = Math.max(...columns.map((boxes) => boxes.length));
  const along = upright ? Math.max(2, Math.min(most, Math.floor((width + 12) / (wide + 12)))) : most;
  const boxes = new Map(), group = svg("g", {});
  let at = 0;
  for (const column of columns) {
    const rows = upright ? Math.ceil(column.length / along) : 1;
    column.forEach((box, number) => {
      const line = upright ? Math.floor(number / along) : 0;
      const inLine = upright ? Math.min(along, column.length - line * along) : column.length;
      const offset = upright ? (width - inLine * (wide + 12) + 12) / 2 + (number % along) * (wide + 12)
        : ((most - inLine) / 2 + number) * (tall + 12);
      boxes.set(box, upright ? {x: offset, y: at + line * (tall + 12)} : {x: at, y: offset});
    });
    at += upright ? rows * (tall + 12) - 12 + gap : wide + gap;
  }
  columns.slice(1).forEach((column, before) => column.forEach((box) => {
    for (const from of columns[before]) {
      if (box.from && !box.from.includes(from)) continue;
      const a = boxes.get(from), b = boxes.get(box);
      const [x1, y1, x2, y2] = upright ? [a.x + wide / 2, a.y + tall, b.x + wide / 2, b.y]
        : [a.x + wide, a.y + tall / 2, b.x, b.y + tall / 2];
      const bend = upright ? `C ${x1} ${(y1 + y2) / 2}, ${x2} ${(y1 + y2) / 2}, ${x2} ${y2}`
        : `C ${(x1 + x2) / 2} ${y1}, ${(x1 + x2) / 2} ${y2}, ${x2} ${y2}`;
      group.append(svg("path", {class: box.bad ? "edge bad" : "edge", d: `M ${x1} ${y1} ${bend}`}));
    }
  }));
  const letters = Math.floor((wide - 18) / 7.3);
  for (const [box, {x, y}] of boxes) {
    group.append(svg("g", {class: box.bad ? "bad" : box.faint ? "faint" : "good", transform: `translate(${x} ${y})`},
      svg("title", {}, `${box.kind}: ${box.lines.join(", ")}`),
      svg("rect", {class: "box", width: wide, height: tall, rx: 8}),
      svg("text", {class: "kind", x: 10, y: 17}, `${box.bad ? "✕ " : ""}${box.kind}`),
      box.lines.slice(0, 2).map((line, number) => svg("text", {x: 10, y: 35 + 16 * number}, short(line, letters)))));
  }
  const height = upright ? at - gap : most * (tall + 12) - 12, full = upright ? width : at - gap;
  return svg("svg", {width: full, height: height + 4, viewBox: `-2 -2 ${full + 4} ${height + 4}`, role: "img",
    "aria-label": columns.flat().map((box) => `${box.bad ? "broken: " : ""}${box.kind} ${box.lines.join(" ")}`).join("; ")}, group);
}
function short(text, letters) {
  return text.length <= letters ? text : `${text.slice(0, Math.ceil(letters / 2) - 1)}…${text.slice(-Math.floor(letters / 2))}`;
}
const leaf = (path) => path.slice(path.lastIndexOf("/") + 1);

function chain(route) {
  const broken = (link) => route.problems.some((problem) => problem.link === link);
  const certificate = route.certificate;
  const client = {kind: route.termination ? "Client, TLS" : "Client", lines: [`${route.host}${route.path}`,
    certificate ? certificate.days_left < 0 ? "expired" : certificate.problem ? "another name"
      : `${certificate.days_left.toLocaleString()} days left` : ""], bad: broken("certificate")};
  const servers = route.virtual_servers.map((server) => ({kind: `Virtual server, port ${server.port || "any"}`,
    lines: [leaf(server.path), server.address || ""], bad: !server.exists}));
  const insecure = (rule) => rule.container.includes("insecure");
  const server = (rule) => servers[route.termination && !insecure(rule) ? 0 : servers.length - 1];
  const columns = [[client], servers.length ? servers : [{kind: "Virtual server", lines: ["none"], faint: true}]];
  if (route.status === "rejected") {
    columns.push([{kind: route.kind, lines: ["not admitted", route.reason], bad: true}]);
    return columns;
  }
  const ordered = [...route.rules].sort((a, b) => insecure(a) - insecure(b));
  const rules = ordered.slice(0, MOST_BOXES).map((rule) => ({
    kind: insecure(rule) ? "Rule, insecure" : "Rule", from: [server(rule)],
    lines: [rule.action.startsWith("pool ") ? route.path || "all paths" : rule.action.replace(" 302", ""),
      rule.state === "in place" ? "" : rule.state],
    bad: rule.state !== "in place", leads: rule.action.startsWith("pool ")}));
  columns.push(rules.length ? rules : [{kind: "Rule", lines: ["none"], bad: true}]);
  const pool = route.pool;
  if (!pool) return columns;
  const leading = rules.filter((rule) => rule.leads);
  columns.push([{kind: "Pool", lines: [leaf(pool.path), pool.members.length ? plural(pool.members.length, "member") : "no members"],
    bad: broken("pool"), from: leading.length ? leading : null}]);
  if (!pool.members.length) return columns;
  const bad = (member) => member.state === "missing" || ["down", "disabled"].includes(member.health);
  const sorted = [...pool.members].sort((a, b) => bad(b) - bad(a));
  const most = sorted.length > MOST_BOXES ? MOST_BOXES - 1 : MOST_BOXES;
  const members = sorted.slice(0, most).map((member) => ({kind: "Member", node: member,
    lines: [member.address, [`port ${member.port}`, member.state === "missing" ? "missing" : member.health,
      member.session === "enabled" ? "" : member.session.replace("_", " ")].filter(Boolean).join(", ")],
    bad: bad(member)}));
  if (sorted.length > most) members.push({kind: "Members", lines: [`${sorted.length - most} more`], faint: true});
  columns.push(members);
  const nodes = new Map();
  for (const box of members.filter((each) => each.node && each.node.node)) {
    const {node, vtep, node_problem: problem} = box.node;
    if (!nodes.has(node)) nodes.set(node, {kind: "Node", lines: [node, vtep ? `VTEP ${vtep}` : problem], bad: Boolean(problem), from: []});
    nodes.get(node).from.push(box);
  }
  if (nodes.size) columns.push([...nodes.values()]);
  return columns;
}

/* ---- asking and showing ------------------------------------------------------------ */

let cameFromList = false;

async function ask(url) {
  const reply = await fetch(url, {headers: {Accept: "application/json"}, credentials: "same-origin",
    signal: AbortSignal.timeout(ANSWER_MS)});
  const text = await reply.text();
  if (!reply.ok) {
    let reason = text.slice(0, 300);
    try { reason = JSON.parse(text).error || reason; } catch (error) { /* no JSON: the text is the reason */ }
    throw Object.assign(new Error(`${reason.trim() || reply.statusText} (${reply.status})`), {status: reply.status});
  }
  return text;
}

async function show() {
  const at = place(), name = Object.hasOwn(VIEWS, at.path[0]) ? at.path[0] : "routes", number = ++asked;
  for (const link of document.querySelectorAll("nav a"))
    link.dataset.view === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  try {
    const text = await ask(VIEWS[name].url(at));
    if (number !== asked) return;
    problem("");
    // No event comes for what the list leaves out because it was made a moment ago.
    const answer = JSON.parse(text);
    if (answer.is_current === false) refresh();
    if (text === shownText && location.hash === shownAt) return;
    const moved = location.hash.split("?")[0] !== shownAt.split("?")[0], asks = location.hash !== shownAt;
    render(VIEWS[name].show(answer, at));
    const before = shownAt;
    [shownText, shownAt] = [text, location.hash];
    document.title = name === "routes" && at.path.length > 2 ? `${at.path[1]}/${at.path[2]} – f5router` : `${name} – f5router`;
    const count = view.querySelector(".pager span");
    if (asks && before) byId("announce").textContent = `${moved ? `${name} shown. ` : ""}${count ? count.textContent : ""}`;
  } catch (error) {
    if (number === asked) {
      problem(error.status ? error.message : "The router cannot be reached.");
      setTimeout(() => { if (number === asked) refresh(); }, AGAIN_MS);
    }
  } finally {
    if (number === asked) view.setAttribute("aria-busy", "false");
  }
  summary();
}

function render(content) {
  const active = document.activeElement, key = active && view.contains(active) ? active.dataset.key : "";
  const selection = active && active.tagName === "INPUT" ? [active.value, active.selectionStart] : null;
  view.replaceChildren(...content.flat(2).filter((child) => child instanceof Node));
  if (!key) return;
  let again = withKey(key);
  if (again && again.disabled) again = view.querySelector(".pager button:enabled");  // the last page has no next
  if (!again) return;
  again.focus({preventScroll: true});
  if (selection && again.tagName === "INPUT") {
    again.value = selection[0];
    again.setSelectionRange(selection[1], selection[1]);
  }
}
const withKey = (key) => [...view.querySelectorAll("[data-key]")].find((element) => element.dataset.key === key);
function problem(text) {
  byId("error").textContent = text;
  byId("error").hidden = !text;
}

let summaryText = "";
async function summary() {
  let text;
  try { text = await ask("api/v1/device"); } catch (error) { return error.status ? undefined : lost(); }
  found();
  if (text === summaryText) return;
  summaryText = text;
  const device = JSON.parse(text), troubles = device.checks.filter((check) => check.problem || check.warns);
  byId("summary").replaceChildren(
    el("span", {}, `BIG-IP ${device.unit}${device.tmos ? `, TMOS ${device.tmos}` : ""}`),
    ...(device.active === null ? [] : [el("span", {class: device.active ? "" : "wrong"}, device.active ? "active" : "standby")]),
    ...(device.sync ? [el("span", {}, `config sync: ${device.sync}`)] : []),
    ...(device.leader === null ? [] : [el("span", {}, device.leader ? "this replica leads" : "this replica follows: statuses are those of an earlier term")]),
    el("span", {class: troubles.length ? "wrong" : ""}, dated(troubles.length ? troubles.map((check) => `${check.name}: ${check.problem || check.note}`).join("; ") : "all checks pass")));
}

let lostAt = 0;  // when the router ceased to answer; 0 while it does
function lost() {
  lostAt = lostAt || Date.now();
  summaryText = "";
  byId("summary").replaceChildren(el("span", {class: "wrong"},
    `The router has not answered since ${new Date(lostAt).toLocaleTimeString()}: this page is out of date. The BIG-IP keeps serving traffic.`));
  view.classList.add("stale");
}
function found() {
  lostAt = 0;
  view.classList.remove("stale");
}

function later(act, wait) {
  clearTimeout(timer);
  timer = setTimeout(act, wait);
}

/* ---- live -------------------------------------------------------------------------- */

let due = 0, stale = false;
function refresh() {
  if (document.hidden) { stale = true; return; }
  if (due) return;
  due = setTimeout(() => { due = 0; show(); }, REFRESH_MS);
}
function live(text, kind) {
  byId("live").textContent = text;
  byId("live").className = `live ${kind}`;
}
function listen() {
  const events = new EventSource("api/v1/events");
  events.addEventListener("open", () => live("Live", "on"));
  events.addEventListener("change", refresh);
  events.addEventListener("error", () => {
    live("Not live, reconnecting", "off");
    summary();
    if (events.readyState === EventSource.CLOSED) { events.close(); setTimeout(listen, RECONNECT_MS); }
  });
}

addEventListener("hashchange", () => {
  cameFromList = /^#\/routes(\?|$)/.test(shownAt);
  const detail = place().path.length > 2, left = shownAt.match(/^#\/routes\/([^/?]+)\/([^/?]+)/);
  show().then(() => {
    if (detail) { scrollTo(0, 0); byId("main").focus({preventScroll: true}); }
    else if (left) (withKey(`${decode(left[1])}/${decode(left[2])}`) || byId("main")).focus();
  });
});
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
  if (event.key === "/" && byId("search")) { event.preventDefault(); byId("search").focus(); }
  if (event.key === "Escape" && place().path.length > 2) cameFromList ? history.back() : (location.hash = "#/routes");
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) { stale = false; refresh(); } });
addEventListener("resize", () => { if (place().path.length > 2) { shownText = ""; later(show, TYPING_MS); } });
setInterval(() => {
  for (const each of view.querySelectorAll("time.ago")) each.textContent = since(each.dateTime);
}, TICK_MS);
setInterval(() => { if (!document.hidden) summary(); }, CHECK_MS);
// What changes without a write, such as a Node that is not ready or a member that is down, has no event.
setInterval(refresh, LOOK_MS);
view.append(el("p", {class: "empty"}, "Loading"));
live("Connecting", "");
show();
listen();
