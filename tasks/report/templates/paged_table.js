  const one = (id) => document.getElementById(id);
  const listen = (id, kind, act) => one(id).addEventListener(kind, act);
  const counted = (number) => number.toLocaleString("en");
  const make = (name, content = "", attributes = {}, made = document.createElement(name)) => {
    made.append(...[content].flat());
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const button = (text, act, attributes = {}) => {
    const made = make("button", text, {type: "button", ...attributes});
    made.addEventListener("click", act);
    return made;
  };
  const options = (id, pairs) => one(id).append(...pairs.map(([value, words]) => make("option", words, {value})));

  const table_row = (head, cells) => make("tr", [make("th", head, {role: "rowheader", scope: "row"}),
    ...cells.map(([label, content, kind]) => make("td", content, {role: "cell", "data-label": label, class: kind}))], {role: "row"});

  // A table in pages. Its heads sort it; so does the select, because narrow screens hide the heads.
  // heads: [key, label]. orders: [key, words upwards, words downwards] of what can be sorted. value: what sorts a row.
  const create_table = ({heads, orders, value, row, page_size, first_upwards = () => true}) => {
    const state = {page: 0}, sortable = new Set(orders.map(([key]) => key));
    let found = [], listed = [];
    const last_page = () => Math.max(1, Math.ceil(listed.length / page_size())) - 1;
    const draw = () => {
      const start = state.page * page_size();
      one("where").textContent = `page ${counted(state.page + 1)} of ${counted(last_page() + 1)}`;
      for (const id of ["first", "back"]) one(id).disabled = state.page === 0;
      for (const id of ["next", "end"]) one(id).disabled = state.page === last_page();
      one("rows").replaceChildren(...listed.slice(start, start + page_size()).map(row));
      one("order").value = `${state.key} ${state.up ? "up" : "down"}`;
      for (const head of one("heads").children) if (sortable.has(head.dataset.column))
        head.setAttribute("aria-sort", head.dataset.column !== state.key ? "none" : state.up ? "ascending" : "descending");
    };
    const sort = (key = state.key, up = state.up) => {
      const sign = up ? 1 : -1;
      Object.assign(state, {key, up, page: 0});
      listed = [...found].sort((a, b) => {
        const [first, second] = [value(a, key), value(b, key)], missing = Number.isNaN(first) - Number.isNaN(second);
        return missing || (first < second ? -sign : first > second ? sign : 0);
      });
      draw();
    };
    const show = (rows) => { found = rows; sort(); };
    const turn = (id, page) => listen(id, "click", () => {
      state.page = page();
      draw();
      one("list").scrollIntoView({block: "nearest"});
      if (one(id).disabled) one("list").focus();
    });

    one("heads").append(...heads.map(([key, label]) => make("th", sortable.has(key)
      ? button(label, () => sort(key, state.key === key ? !state.up : first_upwards(key))) : label,
    {role: "columnheader", scope: "col", "data-column": key})));
    options("order", orders.flatMap(([key, up, down]) => [[`${key} up`, up], [`${key} down`, down]]));
    listen("order", "change", () => { const [, key, way] = /^(.*) (up|down)$/.exec(one("order").value); sort(key, way === "up"); });
    turn("first", () => 0);
    turn("back", () => state.page - 1);
    turn("next", () => state.page + 1);
    turn("end", last_page);
    return {draw, sort, show};
  };
