  const mask = new Uint8Array(n).fill(1);
  let shown = n;
  const fields = new Map();

  const sieve = () => {
    mask.fill(1);
    for (const [key, [low, high]] of state.filters) {
      const at = columns.get(key).at;
      for (let i = 0; i < n; i++) if (!(at[i] >= low && at[i] <= high)) mask[i] = 0;
    }
    shown = 0;
    for (let i = 0; i < n; i++) shown += mask[i];
  };
  const passing = () => {
    const found = [];
    for (let i = 0; i < n; i++) if (mask[i]) found.push(i);
    return found;
  };
  const filter = () => {
    sieve();
    for (const refill of fields.values()) refill();
    state.page = 0;
    draw_map();
    draw_lines();
    sort_table();
    const words = shown === n ? `${counted(n)} points` : `${counted(shown)} of ${counted(n)} points`;
    one("count").textContent = words;
    const unplaced = passing().filter((i) => !placed(i)).length;
    one("shown").textContent = `${words}${shown === n ? "" : " pass the filters"}${unplaced ? `; ${counted(unplaced)} of them have no risk or loss to place them by` : ""}`;
    for (const clear of document.querySelectorAll(".clear")) clear.hidden = state.filters.size === 0;
  };
  const limit = (key, range) => {
    if (range) state.filters.set(key, range);
    else state.filters.delete(key);
  };
  const unlimit = () => { state.filters.clear(); filter(); };

  const choice = (column) => {
    const label = make("label", column.label), select = make("select"), values = distinct(column);
    select.append(make("option", "all", {value: ""}), ...values.map((value) => make("option", said(column, value), {value})));
    const several = make("option", "several", {value: "several", hidden: ""});
    select.append(several);
    select.addEventListener("change", () => {
      limit(column.key, select.value === "" ? null : [Number(select.value), Number(select.value)]);
      filter();
    });
    fields.set(column.key, () => {
      const range = state.filters.get(column.key);
      select.value = !range ? "" : range[0] === range[1] ? String(range[0]) : "several";
    });
    label.append(select);
    return label;
  };
  const range = (column) => {
    const scale = factor(column.unit), unit = NAMED[column.unit] ? `, ${NAMED[column.unit]}` : "";
    const group = make("div", "", {class: "range", role: "group"}), name = make("span"), both = make("span");
    const inputs = ["from", "to"].map((word) => make("input", "", {type: "number", step: "any", placeholder: word}));
    const read = () => {
      const [low, high] = inputs.map((input) => input.value === "" ? null : Number(input.value) / scale);
      const slack = (bound) => 1e-9 * Math.abs(bound);
      limit(column.key, low === null && high === null ? null : [low === null ? -Infinity : low - slack(low), high === null ? Infinity : high + slack(high)]);
      filter();
    };
    for (const input of inputs) input.addEventListener("change", read);
    fields.set(column.key, () => {
      name.textContent = column.label + unit;
      inputs.forEach((input, end) => input.setAttribute("aria-label", `${column.label}${unit}, ${end ? "to" : "from"}`));
      group.setAttribute("aria-label", column.label);
      const now = state.filters.get(column.key) ?? [-Infinity, Infinity];
      inputs.forEach((input, end) => { input.value = Number.isFinite(now[end]) ? Number((now[end] * scale).toPrecision(5)) : ""; });
    });
    both.append(...inputs);
    group.append(name, both);
    return group;
  };
  const field = (column) => column.levels || distinct(column).length <= 12 && column.path ? choice(column) : range(column);
  const tick = (column, words) => {
    const label = make("label", "", {class: "check"}), box = make("input", "", {type: "checkbox"});
    box.addEventListener("change", () => { limit(column.key, box.checked ? [1, 1] : null); filter(); });
    fields.set(column.key, () => { box.checked = state.filters.has(column.key); });
    label.append(box, words);
    return label;
  };
  const folded = (title, parts) => {
    const details = make("details"), room = make("div");
    details.append(make("summary", title), room);
    room.append(...parts);
    return details;
  };
  const build_filters = () => {
    const measures = figures.filter((figure) => figure.main), form = one("filters");
    form.append(field(pipeline), field(status), field(policy), range(risk), range(loss), tick(frontier, "on the frontier"));
    form.append(button("Clear", unlimit, {class: "clear"}));
    if (varying.length) form.append(varying.length > 4 ? folded("By parameters", varying.map(field)) : "");
    if (varying.length <= 4) form.append(...varying.map(field));
    if (measures.length) form.append(folded("By measures", measures.map(range)));
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const clear of document.querySelectorAll("button.plain.clear")) clear.addEventListener("click", unlimit);
  };
