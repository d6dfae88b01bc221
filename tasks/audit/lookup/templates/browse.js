"use strict";
(() => {
{% include "paged_table.js" %}
  const DAY = 86400;
  const [RUN, BEGAN, RELEASE, SERIES, VERDICT, WORDS, DATASET, ASKER, DOUBT, NOTE, SECTIONS] = Array(11).keys();
  const COLUMNS = [["Run", RUN], ["Began (UTC)", BEGAN], ["Release", RELEASE], ["Series", SERIES], ["Data set", DATASET],
    ["Asked by", ASKER], ["Verdict", VERDICT]];
  const CHOICES = [["verdict", VERDICT], ["release", RELEASE], ["series", SERIES]];
  const TONES = {certified: "pass", refused: "fail", failed: "fail", undecided: "undecided"};
  const REVOKED = ", revoked", DIGEST = /^([a-z0-9]+:)?[0-9a-f]{32,}$/;
  const {texts, sections, runs} = JSON.parse(one("data").textContent);
  let lower = null, waiting = 0;

  const when = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  const chip = (run) => make("span", texts[run[WORDS]] + (texts[run[DOUBT]] ? ", not to be believed" : ""),
    {class: `chip is-${texts[run[DOUBT]] || texts[run[WORDS]].endsWith(REVOKED) ? "fail" : TONES[texts[run[VERDICT]]] ?? "idle"}`});
  const row = (run) => table_row(button(run[RUN], () => open(run)), COLUMNS.slice(1).map(([label, column]) => [label,
    column === VERDICT ? chip(run) : make("span", column === BEGAN ? when(run[BEGAN]) : texts[run[column]]), column === BEGAN ? "number" : ""]));

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
    const wanted = CHOICES.filter(([id]) => one(id).value).map(([id, column]) => [column, texts.indexOf(one(id).value.slice(1))]);
    const text = one("text").value.trim().toLowerCase(), since = day("since"), until = day("until");
    const says = text ? matching(JSON.stringify(text).slice(1, -1)) : () => true;
    const found = runs.filter((run) => wanted.every(([column, place]) => run[column] === place)
      && (since === null || run[BEGAN] >= since) && (until === null || run[BEGAN] < until + DAY) && says(run));
    const all = `${counted(runs.length)} ${runs.length === 1 ? "run" : "runs"}`;
    one("count").textContent = found.length === runs.length ? all : `${counted(found.length)} of ${all}`;
    table.show(found);
  };
  const open = (run) => {
    const banners = [texts[run[DOUBT]], texts[run[NOTE]] && `Note: ${texts[run[NOTE]]}`].filter(Boolean);
    one("details-name").textContent = run[RUN];
    one("details-body").replaceChildren(make("p", [`${texts[run[RELEASE]]} `, chip(run)]), ...banners.map((said) => make("p", said, {class: "banner"})),
      ...run[SECTIONS].map((place) => sections[place]).flatMap(([title, facts]) => [make("h3", title),
        make("dl", facts.flatMap(([what, said]) => [make("dt", what), make("dd", DIGEST.test(said) ? make("code", said) : said)]), {class: "facts"})]));
    history.replaceState(null, "", `#${encodeURIComponent(run[RUN])}`);
    document.body.classList.add("behind");
    one("details").showModal();
    one("details").scrollTop = 0;
    one("details-name").focus();
  };
  const open_named = () => {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const run = runs.find((other) => other[RUN] === name);
    if (run && !one("details").open) open(run);
  };

  runs.sort((a, b) => b[BEGAN] - a[BEGAN]);
  const table = create_table({
    heads: COLUMNS.map(([label, column]) => [String(column), label]),
    orders: COLUMNS.map(([label, column]) => [String(column), ...(column === BEGAN ? ["oldest first", "newest first"] : [`${label}, A to Z`, `${label}, Z to A`])]),
    value: (run, key) => key === String(RUN) || key === String(BEGAN) ? run[key] : texts[run[key]],
    row, page_size: () => 50, first_upwards: (key) => key !== String(BEGAN),
  });
  for (const [id, column] of CHOICES) {
    const found = [...new Set(runs.map((run) => texts[run[column]]))].filter(Boolean).sort();
    options(id, [["", "all"], ...found.map((text) => [`=${text}`, text])]);
  }
  for (const id of ["verdict", "release", "series", "since", "until"]) listen(id, "change", filter);
  listen("text", "input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); });
  listen("filters", "submit", (event) => event.preventDefault());
  listen("filters", "reset", () => setTimeout(() => { filter(); table.sort(String(BEGAN), false); }));
  listen("close", "click", () => one("details").close());
  listen("details", "click", (event) => { if (event.target === one("details")) one("details").close(); });
  listen("details", "close", () => {
    document.body.classList.remove("behind");
    history.replaceState(null, "", location.pathname);
  });
  window.addEventListener("hashchange", open_named);
  table.sort(String(BEGAN), false);
  filter();
  open_named();
})();
