  const mask = new Uint8Array(n).fill(1), fields = new Map();
  let passing = [];

  const limit = (key, range) => range ? state.filters.set(key, range) : state.filters.delete(key);
  const filter = () => {
    mask.fill(1);
    for (const [key, [low, high]] of state.filters) {
      const at = columns.get(key).at;
      for (let i = 0; i < n; i++) if (!(at[i] >= low && at[i] <= high)) mask[i] = 0;
    }
    passing = Array.from(mask.keys()).filter((i) => mask[i]);
    for (const [key, refill] of fields) refill(state.filters.get(key));
    draw_map();
    draw_lines();
    table.show(passing);
    const all = passing.length === n, words = all ? `${counted(n)} points` : `${counted(passing.length)} of ${counted(n)} points`;
    const unplaced = passing.filter((i) => !placed(i)).length;
    one("count").textContent = words;
    one("shown").textContent = `${words}${all ? "" : " pass the filters"}${unplaced ? `; ${counted(unplaced)} of them have no risk or loss to place them by` : ""}`;
    for (const clear of document.querySelectorAll(".clear")) clear.hidden = state.filters.size === 0;
  };
  const filter_by = (key, range) => { limit(key, range); filter(); };
  const unlimit = () => { state.filters.clear(); filter(); };

  const choice = (column) => {
    const values = distinct(column).map((value) => make("option", said(column, value), {value}));
    const select = make("select", [make("option", "all", {value: ""}), ...values, make("option", "several", {value: "several", hidden: ""})]);
    select.addEventListener("change", () => filter_by(column.key, select.value === "" ? null : [Number(select.value), Number(select.value)]));
    fields.set(column.key, (range) => { select.value = !range ? "" : range[0] === range[1] ? range[0] : "several"; });
    return make("label", [column.label, select]);
  };
  const range = (column) => {
    const inputs = ["from", "to"].map((placeholder) => make("input", "", {type: "number", step: "any", placeholder}));
    const name = make("span"), group = make("div", [name, make("span", inputs)], {class: "range", role: "group"});
    group.addEventListener("change", () => {
      const bounds = inputs.map(({value}, end) => value === "" ? (end ? Infinity : -Infinity) : Number(value) / factor(column.unit));
      const [low, high] = bounds.map((bound, end) => Number.isFinite(bound) ? bound + (end ? 1e-9 : -1e-9) * Math.abs(bound) : bound);
      filter_by(column.key, low === -Infinity && high === Infinity ? null : [low, high]);
    });
    fields.set(column.key, (now = [-Infinity, Infinity]) => {
      name.textContent = column.label + (NAMED[column.unit] ? `, ${NAMED[column.unit]}` : "");
      group.setAttribute("aria-label", column.label);
      inputs.forEach((input, end) => {
        input.setAttribute("aria-label", `${name.textContent}, ${end ? "to" : "from"}`);
        input.value = Number.isFinite(now[end]) ? Number((now[end] * factor(column.unit)).toPrecision(5)) : "";
      });
    });
    return group;
  };
  const tick = (column) => {
    const box = make("input", "", {type: "checkbox"});
    box.addEventListener("change", () => filter_by(column.key, box.checked ? [1, 1] : null));
    fields.set(column.key, (range) => { box.checked = Boolean(range); });
    return make("label", [box, column.label.toLowerCase()], {class: "check"});
  };
  const field = (column) => column.levels || column.path && distinct(column).length <= 12 ? choice(column) : range(column);
  const folded = (title, fields) => fields.length ? [make("details", [make("summary", title), make("div", fields)])] : [];
  const build_filters = () => {
    one("filters").append(field(pipeline), field(status), field(policy), range(risk), range(loss), tick(frontier), button("Clear", unlimit, {class: "clear"}),
      ...(varying.length > 4 ? folded("By parameters", varying.map(field)) : varying.map(field)), ...folded("By measures", measures.map(range)));
    listen("filters", "submit", (event) => event.preventDefault());
    document.querySelector("button.plain.clear").addEventListener("click", unlimit);
  };
