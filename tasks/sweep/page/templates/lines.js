  const AXIS_ROOM = 112, LINES = {top: 40, bottom: 46, side: 62, right: 100}, AT_ONCE = 800, NONE = -0.09, MOST_AXES = 9;
  let parallel = [], drawing = 0;

  const position = (column) => {
    const values = distinct(column), even = column.levels || values.length <= 12;
    const least = values[0], most = values.at(-1), log = !even && least > 0 && most / least > 100;
    const of = (value) => values.length < 2 ? 0.5 : even ? values.indexOf(value) / (values.length - 1)
      : log ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
    const texts = even ? values.filter((_, i) => values.length <= 12 || i % Math.ceil(values.length / 12) === 0) : [least, most];
    return {column, of, ticks: texts.map((value) => [of(value), said(column, value)]), at: Float32Array.from(column.at, (value) => Number.isNaN(value) ? NONE : of(value))};
  };
  const line_x = (place) => LINES.side + place * ((area.lines?.width ?? 0) - LINES.side - LINES.right) / Math.max(1, parallel.length - 1);
  const line_y = (share) => LINES.top + (1 - share) * ((area.lines?.height ?? 0) - LINES.top - LINES.bottom);
  const choose_axes = () => {
    take_axes();
    draw_lines();
  };
  const take_axes = () => {
    const boxes = [...one("axes").querySelectorAll("input")];
    delete risk.known;
    parallel = boxes.filter((box) => box.checked).map((box) => position(columns.get(box.value)));
  };
  const build_axes = () => {
    const offered = [pipeline, ...varying, risk, loss, policy, ...figures.filter((figure) => figure.main)].filter((column) => column !== pipeline || pipeline.levels.length > 1);
    const first = new Set([...offered.filter((column) => column.path || column === pipeline).slice(0, MOST_AXES - 3), risk, loss, policy]);
    for (const column of offered) if (first.size < MOST_AXES) first.add(column);
    one("axes").append(...offered.map((column) => {
      const label = make("label"), box = make("input", "", {type: "checkbox", value: column.key});
      box.checked = first.has(column);
      box.addEventListener("change", choose_axes);
      label.append(box, column === risk ? "risk" : column.label);
      return label;
    }));
  };
  const draw_lines = () => {
    const holder = one("lines");
    holder.style.width = `${Math.max(parallel.length * AXIS_ROOM, holder.parentElement.clientWidth)}px`;
    const {pen, width, height} = fit(holder);
    area.lines = {width, height};
    draw_axes();
    if (!width || !parallel.length) return;
    const {on} = view(), points = passing(), turn = ++drawing, xs = parallel.map((_, place) => line_x(place)), [bottom, top] = [line_y(0), line_y(1)];
    const order = [...points.filter((i) => !on[i]), ...points.filter((i) => on[i])];
    requestAnimationFrame(() => draw_some({pen, order, xs, turn, y: (share) => bottom + share * (top - bottom)}, 0));
  };
  const draw_some = (task, from) => {
    const {pen, order, xs, turn, y} = task, {on} = view();
    if (turn !== drawing) return;
    const faint = Math.max(0.05, Math.min(0.6, 12 / Math.sqrt(shown + 1)));
    for (const i of order.slice(from, from + AT_ONCE)) {
      pen.strokeStyle = colour_of(look.kinds[i]);
      pen.globalAlpha = on[i] ? 0.9 : faint;
      pen.lineWidth = on[i] ? 1.6 : 1;
      pen.beginPath();
      for (let place = 0; place < xs.length; place++) pen[place ? "lineTo" : "moveTo"](xs[place], y(parallel[place].at[i]));
      pen.stroke();
    }
    pen.globalAlpha = 1;
    if (from + AT_ONCE < order.length) requestAnimationFrame(() => draw_some(task, from + AT_ONCE));
  };
  const folded_label = (text) => {
    const words = text.split(" "), rows = ["", ""];
    for (const word of words) rows[rows[0] && (rows[1] || `${rows[0]} ${word}`.length > 16) ? 1 : 0] += `${word} `;
    return rows.map((row) => row.trim()).map((row) => row.length > 17 ? `${row.slice(0, 16)}\u2026` : row);
  };
  const draw_axes = () => {
    const parts = [], low = line_y(0), high = line_y(1);
    parallel.forEach((axis, place) => {
      const x = line_x(place), range = state.filters.get(axis.column.key);
      parts.push(shape("line", {class: "axis", x1: x, x2: x, y1: high, y2: low}));
      const [first, second] = folded_label(axis.column.label), name = shape("text", {x, y: second ? 12 : 24, "text-anchor": "middle", class: "strong"});
      name.append(shape("tspan", {}, first), ...(second ? [shape("tspan", {x, dy: 14}, second)] : []), shape("title", {}, axis.column.label));
      parts.push(name);
      for (const [share, words] of axis.ticks) parts.push(shape("text", {x: x + 5, y: line_y(share) + 4}, words.length > 14 ? `${words.slice(0, 13)}\u2026` : words));
      if (axis.at.includes(Math.fround(NONE))) parts.push(shape("text", {x: x + 5, y: line_y(NONE) + 10}, "none"));
      if (range) parts.push(shape("rect", {class: "box", x: x - 9, width: 18, ...span(axis, range)}));
    });
    if (state.chosen >= 0 && parallel.length) parts.push(shape("path", {class: "chosen-line", d: `M${parallel.map((axis, place) => `${line_x(place)},${line_y(axis.at[state.chosen])}`).join("L")}`}));
    if (area.stretch) parts.push(shape("rect", {class: "box", ...area.stretch}));
    one("lines").querySelector(".over").replaceChildren(...parts);
  };
  const span = (axis, [low, high]) => {
    const inside = distinct(axis.column).filter((value) => value >= low && value <= high).map((value) => line_y(axis.of(value)));
    return inside.length ? {y: Math.min(...inside) - 6, height: Math.max(...inside) - Math.min(...inside) + 12} : {y: line_y(0), height: 1};
  };
  const follow_axes = () => {
    const holder = one("lines");
    let start = null;
    const place = (event) => { const box = holder.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    holder.addEventListener("pointerdown", (event) => {
      const [x, y] = place(event), axis = parallel.findIndex((_, at) => Math.abs(line_x(at) - x) < 28);
      if (event.button !== 0 || axis < 0) return;
      start = {axis, y};
      holder.setPointerCapture(event.pointerId);
    });
    holder.addEventListener("pointermove", (event) => {
      if (!start) return;
      const y = place(event)[1];
      area.stretch = {x: line_x(start.axis) - 9, width: 18, y: Math.min(y, start.y), height: Math.abs(y - start.y)};
      draw_axes();
    });
    const finish = (event, act) => {
      if (!start) return;
      const {axis, y} = start, now = place(event)[1], picked = parallel[axis];
      start = area.stretch = null;
      if (!act) return draw_axes();
      const inside = distinct(picked.column).filter((value) => line_y(picked.of(value)) >= Math.min(y, now) - 3 && line_y(picked.of(value)) <= Math.max(y, now) + 3);
      limit(picked.column.key, Math.abs(y - now) < 5 || !inside.length ? null : [inside[0], inside.at(-1)]);
      filter();
    };
    holder.addEventListener("pointerup", (event) => finish(event, true));
    holder.addEventListener("pointercancel", (event) => finish(event, false));
  };
