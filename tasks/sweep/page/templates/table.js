  const A_PAGE = 40;
  const MOST_COLUMNS = 4, A_NARROW_PAGE = 12;
  const all_parameters = {key: "parameters", label: "Parameters"};
  const heads = [point, pipeline, status, ...(varying.length > MOST_COLUMNS ? [all_parameters] : varying), risk, loss, frontier, policy, beaten]
    .filter((column) => column !== status || status.levels.length > 1);
  const narrow = matchMedia("(max-width: 44rem)");
  const a_page = () => narrow.matches ? A_NARROW_PAGE : A_PAGE;
  let listed = [];

  const sort_table = () => {
    const at = columns.get(state.order).at, sign = state.up ? 1 : -1;
    listed = passing();
    if (state.order !== "point" || !state.up) listed.sort((a, b) => {
      const [first, second] = [at[a], at[b]];
      if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second) || a - b;
      return sign * (first - second) || a - b;
    });
    draw_table();
  };
  const draw_table = () => {
    const pages = Math.max(1, Math.ceil(listed.length / a_page())), start = state.page * a_page();
    one("where").textContent = `page ${counted(state.page + 1)} of ${counted(pages)}`;
    for (const [id, off] of [["first", state.page === 0], ["back", state.page === 0], ["next", state.page + 1 >= pages], ["end", state.page + 1 >= pages]]) one(id).disabled = off;
    one("rows").replaceChildren(...listed.slice(start, start + a_page()).map(row));
    for (const head of one("heads").children) {
      if (head.dataset.column === all_parameters.key) continue;
      head.setAttribute("aria-sort", head.dataset.column !== state.order ? "none" : state.up ? "ascending" : "descending");
    }
    one("order").value = state.order;
    one("direction").value = state.up ? "up" : "down";
  };
  const beaters = (i, most = 3) => {
    const {from, to, frontier: front} = view(), all = front.slice(from[i], to[i]), named = all.slice(0, most).map((one) => NUMBERS[one]);
    return all.length ? `${all.length}: ${named.join(", ")}${all.length > most ? ", \u2026" : ""}` : DASH;
  };
  const cell = (column, i) => column === beaten ? beaters(i) : column === all_parameters ? parameters(i, varying) || DASH : said(column, column.at[i]);
  const NAMES = new Map([[risk, "Risk"], [loss, "Loss"]]);
  const name_of = (column) => NAMES.get(column) ?? column.label;
  const row = (i) => {
    const line = make("tr", "", {role: "row", ...(i === state.chosen ? {class: "chosen"} : {})});
    for (const column of heads) {
      if (column === point) {
        const head = make("th", "", {role: "rowheader", scope: "row"});
        head.append(button(String(NUMBERS[i]), () => { choose(i); one("point").focus(); }, {"aria-label": `Point ${NUMBERS[i]}: show its figures`}));
        line.append(head);
        continue;
      }
      const data = make("td", "", {role: "cell", "data-label": name_of(column), class: column === all_parameters || column.path && column.levels ? "" : column.levels ? "word" : "number"});
      const value = make("span", cell(column, i));
      if (value.textContent === DASH) data.classList.add("empty");
      if (column === pipeline && look.colour === pipeline) value.prepend(picture(look.kinds[i], Boolean(kept[i])), " ");
      data.append(value);
      line.append(data);
    }
    return line;
  };
  const turn = (id, page) => listen(id, "click", () => {
    state.page = page();
    draw_table();
    if (one(id).disabled) one("list").focus();
  });
  const order_by = (key, up) => {
    Object.assign(state, {order: key, up, page: 0});
    sort_table();
  };
  const build_table = () => {
    for (const column of heads) {
      const head = make("th", "", {role: "columnheader", scope: "col", "data-column": column.key});
      head.append(column === all_parameters ? column.label : button(name_of(column), () => order_by(column.key, state.order === column.key ? !state.up : true)));
      one("heads").append(head);
    }
    one("order").append(...[point, pipeline, status, ...varying, risk, loss, frontier, policy, beaten].map((column) => make("option", name_of(column), {value: column.key})));
    for (const id of ["order", "direction"]) listen(id, "change", () => order_by(one("order").value, one("direction").value === "up"));
    narrow.addEventListener("change", () => { state.page = 0; draw_table(); });
    turn("first", () => 0);
    turn("back", () => state.page - 1);
    turn("next", () => state.page + 1);
    turn("end", () => Math.max(0, Math.ceil(listed.length / a_page()) - 1));
  };
