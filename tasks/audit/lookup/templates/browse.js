"use strict";
(() => {
  const A_PAGE = 50, DAY = 86400;
  const [RUN, BEGAN, RELEASE, SERIES, VERDICT, WORDS, DATASET, ASKER, DOUBT, NOTE, SECTIONS] = Array(11).keys();
  const COLUMNS = [["Run", RUN], ["Began (UTC)", BEGAN], ["Release", RELEASE], ["Series", SERIES], ["Data set", DATASET],
    ["Asked by", ASKER], ["Verdict", VERDICT]];
  const TONES = {certified: "pass", refused: "fail", failed: "fail", undecided: "undecided"};
  const REVOKED = ", revoked", DIGEST = /^([a-z0-9]+:)?[0-9a-f]{32,}$/;
  const one = (id) => document.getElementById(id);
  const {texts, sections, runs} = JSON.parse(one("data").textContent);
  const state = {order: BEGAN, up: false, page: 0, found: runs};
  let lower = null;

  const make = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const when = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  const cell = (run, column) => column === RUN ? run[RUN] : column === BEGAN ? when(run[BEGAN]) : texts[run[column]];
  const chip = (run) => make("span", texts[run[WORDS]] + (texts[run[DOUBT]] ? ", not to be believed" : ""),
    {class: `chip is-${texts[run[DOUBT]] || texts[run[WORDS]].endsWith(REVOKED) ? "fail" : TONES[texts[run[VERDICT]]] ?? "idle"}`});

  const choices = (id, column) => {
    const found = [...new Set(runs.map((run) => run[column]))].map((place) => texts[place]).sort();
    one(id).append(make("option", "all", {value: ""}));
    for (const text of found) if (text) one(id).append(make("option", text, {value: `=${text}`}));
  };
  const day = (id) => one(id).value ? Date.parse(`${one(id).value}T00:00:00Z`) / 1000 : null;

  const matching = (text) => {
    lower ??= {texts: texts.map((said) => said.toLowerCase()), sections: sections.map((said) => JSON.stringify(said).toLowerCase())};
    const among = (all) => new Set(all.flatMap((said, place) => said.includes(text) ? [place] : []));
    const [in_texts, in_sections] = [among(lower.texts), among(lower.sections)];
    const named = [RELEASE, SERIES, WORDS, DATASET, ASKER, DOUBT, NOTE];
    return (run) => run[RUN].toLowerCase().includes(text) || named.some((column) => in_texts.has(run[column]))
      || run[SECTIONS].some((place) => in_sections.has(place));
  };
  const filter = () => {
    const wanted = [["verdict", VERDICT], ["release", RELEASE], ["series", SERIES]]
      .filter(([id]) => one(id).value).map(([id, column]) => [column, texts.indexOf(one(id).value.slice(1))]);
    const text = one("text").value.trim().toLowerCase(), since = day("since"), until = day("until");
    const says = text ? matching(JSON.stringify(text).slice(1, -1)) : () => true;
    state.found = runs.filter((run) => wanted.every(([column, place]) => run[column] === place)
      && (since === null || run[BEGAN] >= since) && (until === null || run[BEGAN] < until + DAY) && says(run));
    sort();
  };
  const sort = () => {
    const key = state.order === BEGAN ? (run) => run[BEGAN] : (run) => cell(run, state.order);
    const sign = state.up ? 1 : -1;
    const keyed = state.found.map((run) => [key(run), run]);
    keyed.sort(([a, first], [b, second]) => a < b ? -sign : a > b ? sign : second[BEGAN] - first[BEGAN]);
    state.found = keyed.map(([, run]) => run);
    state.page = 0;
    draw();
  };
  const draw = () => {
    const pages = Math.max(1, Math.ceil(state.found.length / A_PAGE)), start = state.page * A_PAGE;
    const number = (n) => n.toLocaleString("en");
    const all = `${number(runs.length)} ${runs.length === 1 ? "run" : "runs"}`;
    one("count").textContent = state.found.length === runs.length ? all : `${number(state.found.length)} of ${all}`;
    one("where").textContent = `page ${number(state.page + 1)} of ${number(pages)}`;
    for (const [id, off] of [["first", state.page === 0], ["back", state.page === 0], ["next", state.page + 1 >= pages],
      ["end", state.page + 1 >= pages]]) one(id).disabled = off;
    one("rows").replaceChildren(...state.found.slice(start, start + A_PAGE).map(row));
    for (const head of one("heads").children) {
      const sorted = Number(head.dataset.column) === state.order ? (state.up ? "ascending" : "descending") : "none";
      head.setAttribute("aria-sort", sorted);
    }
    one("order").value = `${state.order}${state.up ? "+" : "-"}`;
  };
  const row = (run) => {
    const line = make("tr", "", {role: "row"});
    for (const [label, column] of COLUMNS) {
      if (column === RUN) {
        const head = make("th", "", {role: "rowheader", scope: "row"}), button = make("button", run[RUN], {type: "button"});
        button.addEventListener("click", () => open(run));
        head.append(button);
        line.append(head);
        continue;
      }
      const data = make("td", "", {role: "cell", "data-label": label, class: column === BEGAN ? "number" : ""});
      data.append(column === VERDICT ? chip(run) : make("span", cell(run, column)));
      line.append(data);
    }
    return line;
  };
  const open = (run) => {
    const body = one("details-body"), line = make("p", "");
    one("details-name").textContent = run[RUN];
    line.append(`${texts[run[RELEASE]]} `, chip(run));
    body.replaceChildren(line);
    if (texts[run[DOUBT]]) body.append(make("p", texts[run[DOUBT]], {class: "banner"}));
    if (texts[run[NOTE]]) body.append(make("p", `Note: ${texts[run[NOTE]]}`, {class: "banner"}));
    for (const place of run[SECTIONS]) {
      const [title, facts] = sections[place], list = make("dl", "", {class: "facts"});
      for (const [what, said] of facts) {
        const value = make("dd", "");
        value.append(DIGEST.test(said) ? make("code", said) : said);
        list.append(make("dt", what), value);
      }
      body.append(make("h3", title), list);
    }
    history.replaceState(null, "", `#${encodeURIComponent(run[RUN])}`);
    document.body.classList.add("behind");
    one("details").showModal();
    one("details").scrollTop = 0;
    one("details-name").focus();
  };
  const named = () => {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const run = runs.find((other) => other[RUN] === name);
    if (run && !one("details").open) open(run);
  };
  const turn = (id, page) => one(id).addEventListener("click", () => {
    state.page = page();
    draw();
    one("list").scrollIntoView({block: "nearest"});
    if (one(id).disabled) one("list").focus();
  });
  const last = () => Math.max(0, Math.ceil(state.found.length / A_PAGE) - 1);

  for (const [label, column] of COLUMNS) {
    const head = make("th", "", {role: "columnheader", scope: "col", "data-column": column}), button = make("button", label, {type: "button"});
    button.addEventListener("click", () => {
      state.up = state.order === column ? !state.up : column !== BEGAN;
      state.order = column;
      sort();
    });
    head.append(button);
    one("heads").append(head);
    const [up, down] = column === BEGAN ? ["oldest first", "newest first"] : [`${label}, A to Z`, `${label}, Z to A`];
    for (const [sign, words] of [["-", down], ["+", up]]) one("order").append(make("option", words, {value: `${column}${sign}`}));
  }
  one("order").addEventListener("change", () => {
    state.order = parseInt(one("order").value, 10);
    state.up = one("order").value.endsWith("+");
    sort();
  });
  for (const [id, column] of [["verdict", VERDICT], ["release", RELEASE], ["series", SERIES]]) {
    choices(id, column);
    one(id).addEventListener("change", filter);
  }
  let waiting = 0;
  one("text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); });
  for (const id of ["since", "until"]) one(id).addEventListener("change", filter);
  one("filters").addEventListener("submit", (event) => event.preventDefault());
  one("filters").addEventListener("reset", () => setTimeout(() => { state.order = BEGAN; state.up = false; filter(); }));
  turn("first", () => 0);
  turn("back", () => state.page - 1);
  turn("next", () => state.page + 1);
  turn("end", last);
  one("close").addEventListener("click", () => one("details").close());
  one("details").addEventListener("click", (event) => { if (event.target === one("details")) one("details").close(); });
  one("details").addEventListener("close", () => {
    document.body.classList.remove("behind");
    history.replaceState(null, "", location.pathname);
  });
  window.addEventListener("hashchange", named);
  sort();
  named();
})();
