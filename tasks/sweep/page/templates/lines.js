  const AXIS_ROOM = 112, LINES = {top: 40, bottom: 46, side: 62, right: 100}, AT_ONCE = 800, NONE = -0.09, MOST_AXES = 9;
  const lines = {width: 0, height: 0, axes: [], turn: 0};

  const short = (text, most) => text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
  const position = (column) => {
    const values = distinct(column), even = column.levels || values.length <= 12;
    const least = values[0], most = values.at(-1), log = !even && least > 0 && most / least > 100;
    const of = (value) => values.length < 2 ? 0.5 : even ? values.indexOf(value) / (values.length - 1)
      : log ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
    const texts = even ? values.filter((_, i) => i % Math.ceil(values.length / 12) === 0) : [least, most];
    const at = Float32Array.from(column.at, (value) => Number.isNaN(value) ? NONE : of(value));
    return {column, of, at, ticks: texts.map((value) => [of(value), said(column, value)])};
  };
  const line_x = (place) => LINES.side + place * (lines.width - LINES.side - LINES.right) / Math.max(1, lines.axes.length - 1);
  const line_y = (share) => LINES.top + (1 - share) * (lines.height - LINES.top - LINES.bottom);
  const take_axes = () => {
    delete risk.known;
    lines.axes = [...one("axes").querySelectorAll(":checked")].map((box) => position(columns.get(box.value)));
  };
  const build_axes = () => {
    const offered = [...(pipeline.levels.length > 1 ? [pipeline] : []), ...varying, risk, loss, policy, ...measures];
    const first = new Set([...offered.filter((column) => column.path || column === pipeline).slice(0, MOST_AXES - 3), risk, loss, policy]);
    for (const column of offered) if (first.size < MOST_AXES) first.add(column);
    one("axes").append(...offered.map((column) => make("label", [
      make("input", "", {type: "checkbox", value: column.key, ...(first.has(column) ? {checked: ""} : {})}), column === risk ? "risk" : column.label])));
    listen("axes", "change", () => { take_axes(); draw_lines(); });
  };
  const draw_lines = () => {
    const holder = one("lines");
    holder.style.width = `${Math.max(lines.axes.length * AXIS_ROOM, holder.parentElement.clientWidth)}px`;
    const {pen, ...size} = fit(holder), {on} = view(), turn = lines.turn + 1;
    Object.assign(lines, size, {turn});
    draw_axes();
    const tones = tones_of(), faint = Math.max(0.05, Math.min(0.6, 12 / Math.sqrt(passing.length + 1)));
    const order = [...passing.filter((i) => !on[i]), ...passing.filter((i) => on[i])];
    const xs = lines.axes.map((_, place) => line_x(place)), [bottom, top] = [line_y(0), line_y(1)];
    const draw_some = (from) => requestAnimationFrame(() => {
      if (turn !== lines.turn || !lines.width) return;
      for (const i of order.slice(from, from + AT_ONCE)) {
        Object.assign(pen, {strokeStyle: tones[look.kinds[i]], globalAlpha: on[i] ? 0.9 : faint, lineWidth: on[i] ? 1.6 : 1});
        pen.beginPath();
        for (let place = 0; place < xs.length; place++) pen.lineTo(xs[place], bottom + lines.axes[place].at[i] * (top - bottom));
        pen.stroke();
      }
      if (from + AT_ONCE < order.length) draw_some(from + AT_ONCE);
    });
    draw_some(0);
  };
  const two_rows = (text) => {
    const rows = ["", ""];
    for (const word of text.split(" ")) rows[rows[0] && (rows[1] || `${rows[0]} ${word}`.length > 16) ? 1 : 0] += `${word} `;
    return rows.map((row) => short(row.trim(), 17));
  };
  const draw_axes = () => {
    const parts = lines.axes.flatMap((axis, place) => {
      const x = line_x(place), range = state.filters.get(axis.column.key), [first, second] = two_rows(axis.column.label);
      return [shape("line", {class: "axis", x1: x, x2: x, y1: line_y(1), y2: line_y(0)}),
        shape("text", {x, y: second ? 12 : 24, "text-anchor": "middle", class: "strong"},
          [shape("tspan", {}, first), shape("tspan", {x, dy: 14}, second), shape("title", {}, axis.column.label)]),
        ...axis.ticks.map(([share, words]) => shape("text", {x: x + 5, y: line_y(share) + 4}, short(words, 14))),
        ...(axis.at.includes(Math.fround(NONE)) ? [shape("text", {x: x + 5, y: line_y(NONE) + 10}, "none")] : []),
        ...(range ? [shape("rect", {class: "box", x: x - 9, width: 18, ...stretch_of(axis, range)})] : [])];
    });
    const corner = (axis, place) => `${line_x(place)},${line_y(axis.at[state.chosen])}`;
    if (state.chosen >= 0) parts.push(shape("polyline", {class: "chosen-line", points: lines.axes.map(corner).join(" ")}));
    if (lines.stretch) parts.push(shape("rect", {class: "box", ...lines.stretch}));
    one("lines").querySelector(".over").replaceChildren(...parts);
  };
  const stretch_of = (axis, [low, high]) => {
    const inside = distinct(axis.column).filter((value) => value >= low && value <= high).map((value) => line_y(axis.of(value)));
    return inside.length ? {y: Math.min(...inside) - 6, height: Math.max(...inside) - Math.min(...inside) + 12} : {y: line_y(0), height: 1};
  };
  const follow_axes = () => {
    const axis_at = (x) => lines.axes.findIndex((_, place) => Math.abs(line_x(place) - x) < 28);
    follow_pointer(one("lines"), {
      begin: ([x]) => axis_at(x) >= 0,
      move: ([, y], start) => {
        if (!start) return;
        lines.stretch = {x: line_x(axis_at(start[0])) - 9, width: 18, y: Math.min(y, start[1]), height: Math.abs(y - start[1])};
        draw_axes();
      },
      end: (now, [x, start]) => {
        lines.stretch = null;
        if (!now) return draw_axes();
        const {column, of} = lines.axes[axis_at(x)], [top, bottom] = [Math.min(now[1], start) - 3, Math.max(now[1], start) + 3];
        const inside = distinct(column).filter((value) => line_y(of(value)) >= top && line_y(of(value)) <= bottom);
        filter_by(column.key, Math.abs(now[1] - start) < 5 || !inside.length ? null : [inside[0], inside.at(-1)]);
      },
    });
  };
