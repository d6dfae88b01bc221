  const options = (id, pairs) => one(id).append(...pairs.map(([value, words]) => make("option", words, {value})));
  const SCALES = {linear: "linear", x: "loss by logarithm", y: "risk by logarithm", both: "both by logarithm"};

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
  const set_look = () => {
    colour_by(columns.get(one("colour").value));
    size_by(columns.get(one("size").value) ?? null);
    legend();
    draw_map();
    draw_lines();
    draw_table();
    choose(state.chosen);
  };
  const repaint = () => { learn_theme(); draw_map(); draw_lines(); };
  const named = (hash) => {
    const number = Number(/^#point-(\d+)$/.exec(hash)?.[1] ?? NaN), place = NUMBERS.indexOf(number);
    if (place >= 0 && place !== state.chosen) choose(place);
  };

  const asked = location.hash;
  document.documentElement.classList.add("script");
  const few = (column) => column.levels ? column.levels.length <= 12 : distinct(column).length <= KINDS;
  options("colour", [pipeline, method, ...varying].filter((column) => column === pipeline || few(column)).map((column) => [column.key, column.label]));
  options("size", [["", "all alike"], ...[...varying, ...figures.filter((figure) => figure.main)].filter((column) => !column.levels && distinct(column).length > 1).map((column) => [column.key, column.label])]);
  options("bars", [["few", "as many as legible"], ["front", "of the frontier"], ["all", "of all points"], ["none", "none"]]);
  options("scales", Object.entries(SCALES));
  learn_theme();
  colour_by(pipeline);
  size_by(null);
  legend();
  build_filters();
  build_axes();
  build_table();
  set_view();
  follow_pointer();
  follow_keys();
  follow_axes();
  for (const input of document.querySelectorAll("input[name=view]")) input.addEventListener("change", set_view);
  for (const id of ["colour", "size"]) listen(id, "change", set_look);
  listen("bars", "change", draw_map);
  listen("scales", "change", set_scales);
  listen("closer", "click", () => zoom_by(1.5));
  listen("wider", "click", () => zoom_by(1 / 1.5));
  listen("whole", "click", () => zoom_to(null));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  let wide = one("map").clientWidth;
  new ResizeObserver(() => {
    if (one("map").clientWidth === wide) return;
    wide = one("map").clientWidth;
    sprites.clear();
    draw_map();
    draw_lines();
  }).observe(one("map"));
  window.addEventListener("hashchange", () => named(location.hash));
  named(asked);
