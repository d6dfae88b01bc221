  const MOST_COLUMNS = 4, A_PAGE = 40, A_NARROW_PAGE = 12, MOST_KINDS = 12;
  const narrow = matchMedia("(max-width: 44rem)");
  const all_parameters = {key: "parameters", label: "Parameters"}, PARAMETERS = varying.length > MOST_COLUMNS ? [all_parameters] : varying;
  const name_of = (column) => column === risk ? "Risk" : column === loss ? "Loss" : column.label;
  const content_of = (column, i) => {
    if (column === all_parameters) return parameters(i, varying) || DASH;
    if (column !== beaten) return said(column, column.at[i]);
    const points = dominating(i), named = points.slice(0, 3).map((j) => NUMBERS[j]).join(", ");
    return points.length ? `${points.length}: ${named}${points.length > 3 ? ", \u2026" : ""}` : DASH;
  };
  const row = (i) => {
    const head = button(String(NUMBERS[i]), () => { choose(i); one("point").focus(); }, {"aria-label": `Point ${NUMBERS[i]}: show its figures`});
    const line = table_row(head, shown_columns.slice(1).map((column) => {
      const text = content_of(column, i), kind = column === all_parameters || column.path && column.levels ? "" : column.levels ? "word" : "number";
      const mark = column === pipeline && look.colour === pipeline ? [picture_of(i), " "] : [];
      return [name_of(column), make("span", [...mark, text]), text === DASH ? `${kind} empty` : kind];
    }));
    line.classList.toggle("chosen", i === state.chosen);
    return line;
  };
  const shown_columns = [point, pipeline, ...(status.levels.length > 1 ? [status] : []), ...PARAMETERS, risk, loss, frontier, policy, beaten];
  const table = create_table({
    heads: shown_columns.map((column) => [column.key, name_of(column)]),
    orders: [point, pipeline, status, ...varying, risk, loss, frontier, policy, beaten]
      .map((column) => [column.key, `${name_of(column)}, upwards`, `${name_of(column)}, downwards`]),
    value: (i, key) => columns.get(key).at[i], row, page_size: () => narrow.matches ? A_NARROW_PAGE : A_PAGE,
  });

  const set_view = () => {
    state.view = Number(document.querySelector("input[name=view]:checked").value);
    state.zoom = null;
    state.filters.delete("risk");
    one("view-says").textContent = `${view().says} Loss: ${loss.label}.`;
    take_axes();
    filter();
    choose(state.chosen);
  };
  const set_scales = () => {
    const wanted = one("scales").value;
    state.log = {x: wanted === "x" || wanted === "both", y: wanted === "y" || wanted === "both"};
    zoom_to(null);
  };
  const draw = () => { draw_map(); draw_lines(); };
  const set_look = () => {
    look_by(columns.get(one("colour").value), columns.get(one("size").value));
    draw();
    table.draw();
    choose(state.chosen);
  };
  const open_named = (hash) => {
    const place = NUMBERS.indexOf(Number(/^#point-(\d+)$/.exec(hash)?.[1] ?? NaN));
    if (place >= 0 && place !== state.chosen) choose(place);
  };

  const asked = location.hash, has_few = (column) => (column.levels ?? distinct(column)).length <= (column.levels ? MOST_KINDS : KINDS);
  document.documentElement.classList.add("script");
  options("colour", [pipeline, ...[method, ...varying].filter(has_few)].map((column) => [column.key, column.label]));
  const sizes = [...varying, ...measures].filter((column) => !column.levels && distinct(column).length > 1);
  options("size", [["", "all alike"], ...sizes.map((column) => [column.key, column.label])]);
  look_by(pipeline);
  build_filters();
  build_axes();
  table.sort("point", true);
  set_view();
  follow_map();
  follow_axes();
  for (const input of document.querySelectorAll("input[name=view]")) input.addEventListener("change", set_view);
  for (const [id, act] of [["colour", set_look], ["size", set_look], ["bars", draw_map], ["scales", set_scales]]) listen(id, "change", act);
  for (const [id, act] of [["closer", () => zoom_by(1.5)], ["wider", () => zoom_by(1 / 1.5)], ["whole", () => zoom_to(null)]]) listen(id, "click", act);
  narrow.addEventListener("change", () => table.sort());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(() => { if (one("map").clientWidth !== area.width) draw(); }).observe(one("map"));
  window.addEventListener("hashchange", () => open_named(location.hash));
  open_named(asked);
