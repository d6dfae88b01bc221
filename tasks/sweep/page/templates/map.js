  const ROOM = {left: 62, right: 16, top: 30, bottom: 46}, PADDING = 0.03, NEAR = 18, FEW = 300;
  const area = {width: 0, height: 0, xs: new Float32Array(n), ys: new Float32Array(n)};
  const side = {x: loss, y: risk};

  const scaled = (axis, value) => state.log[axis] ? Math.log10(Math.max(value, area.floor[axis])) : value;
  const unscaled = (axis, value) => state.log[axis] ? 10 ** value : value;
  const whole = (axis) => {
    let least = state.log[axis] ? Infinity : 0, most = -Infinity;
    for (let i = 0; i < n; i++) if (placed(i)) { const value = scaled(axis, side[axis].at[i]); least = Math.min(least, value); most = Math.max(most, value); }
    if (!Number.isFinite(most - least)) [least, most] = [0, 1];
    const pad = (most - least || 1) * PADDING;
    return [least - pad, most + pad];
  };
  const frame = () => {
    area.floor = {};
    for (const axis of ["x", "y"]) area.floor[axis] = side[axis].at.reduce((least, value) => value > 0 && value < least ? value : least, Infinity) / 1.5;
    area.window = state.zoom ?? {x: whole("x"), y: whole("y")};
    area.across = area.width - ROOM.left - ROOM.right;
    area.down = area.height - ROOM.top - ROOM.bottom;
    const risks = risk.at, losses = loss.at;
    for (let i = 0; i < n; i++) { area.xs[i] = x_of(losses[i]); area.ys[i] = y_of(risks[i]); }
  };
  const x_of = (value) => ROOM.left + (scaled("x", value) - area.window.x[0]) / (area.window.x[1] - area.window.x[0]) * area.across;
  const y_of = (value) => ROOM.top + (1 - (scaled("y", value) - area.window.y[0]) / (area.window.y[1] - area.window.y[0])) * area.down;
  const from_pixels = (x, y) => {
    const {x: [left, right], y: [bottom, top]} = area.window;
    return [left + (x - ROOM.left) / area.across * (right - left), bottom + (1 - (y - ROOM.top) / area.down) * (top - bottom)];
  };
  const even_ticks = (low, high, most) => {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough)), step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    return Array.from({length: Math.floor(high / step) - Math.ceil(low / step) + 1}, (_, i) => Number(((Math.ceil(low / step) + i) * step).toPrecision(12)));
  };
  const ticks = (axis) => {
    const [low, high] = area.window[axis], most = axis === "x" ? area.across / 90 : area.down / 55;
    if (!state.log[axis]) return even_ticks(low, high, most);
    const powers = even_ticks(Math.floor(low), Math.ceil(high), Math.ceil(high) - Math.floor(low)), found = powers
      .flatMap((power) => (high - low > most ? [1] : [1, 2, 5]).map((lead) => lead * 10 ** power)).filter((value) => value >= 10 ** low && value <= 10 ** high);
    return high - low < 0.8 || found.length < 2 ? even_ticks(10 ** low, 10 ** high, most) : found.filter((_, i) => i % Math.ceil(found.length / (most + 2)) === 0);
  };

  const fit = (holder) => {
    const canvas = holder.querySelector("canvas"), ratio = Math.min(2, window.devicePixelRatio || 1), {clientWidth: width, clientHeight: height} = holder;
    Object.assign(canvas, {width: Math.round(width * ratio), height: Math.round(height * ratio)});  // this clears it
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    return {pen, width, height};
  };
  const draw_map = () => {
    const {pen, width, height} = fit(one("map"));
    Object.assign(area, {width, height});
    if (!width) return;
    frame();
    pen.beginPath();
    pen.rect(ROOM.left, ROOM.top, area.across, area.down);
    pen.clip();
    draw_region(pen);
    pen.strokeStyle = colour("line");
    segments(pen, [...ticks("x").map((value) => [x_of(value), 0, x_of(value), height]), ...ticks("y").map((value) => [0, y_of(value), width, y_of(value)])]);
    const {on} = view(), {xs, ys} = area, layers = [[], [], []];
    pen.fillStyle = colour("faint");
    for (let i = 0; i < n; i++) {
      if (mask[i] && placed(i)) layers[on[i] ? 2 : kept[i]].push(i);
      else pen.fillRect(xs[i] - 1.5, ys[i] - 1.5, 3, 3);
    }
    draw_bars(pen);
    draw_marks(pen, layers.flat(), xs, ys);
    draw_over();
  };
  const draw_region = (pen) => {
    if (raw.loss.limit === null && view().limit === null) return;
    const right = raw.loss.limit === null ? area.width : x_of(raw.loss.limit), top = view().limit === null ? 0 : y_of(view().limit);
    pen.fillStyle = colour("region");
    pen.fillRect(0, top, right, area.height - top);
  };
  const segments = (pen, lines) => {
    pen.beginPath();
    for (const [x, y, to_x, to_y] of lines) { pen.moveTo(x, y); pen.lineTo(to_x, to_y); }
    pen.stroke();
  };
  const bars_of = (i) => {
    const [x, y] = [x_of(loss.at[i]), y_of(risk.at[i])];
    return [[x_of(loss.low[i]), y, x_of(loss.high[i]), y], [x, y_of(risk.low[i]), x, y_of(risk.high[i])]];
  };
  const draw_bars = (pen) => {
    const wanted = one("bars").value, many = passing.length > FEW;
    if (wanted === "none") return;
    pen.strokeStyle = colour("soft");
    pen.globalAlpha = wanted === "all" && many ? 0.35 : 0.75;
    segments(pen, (wanted === "all" || wanted === "few" && !many ? passing : along()).filter(placed).flatMap(bars_of));
    pen.globalAlpha = 1;
  };

  const draw_over = () => {
    const right = ROOM.left + area.across, bottom = ROOM.top + area.down, path = view().frontier.map((i, place) => {
      const [x, y] = [x_of(loss.at[i]).toFixed(1), y_of(risk.at[i]).toFixed(1)];
      return place ? `H${x}V${y}` : `M${x},${y}`;
    });
    const inside = [shape("path", {class: "front", d: path.join("")})];
    const ring = (i, r) => { for (const name of ["halo", "ring"]) inside.push(shape("circle", {class: name, cx: x_of(loss.at[i]), cy: y_of(risk.at[i]), r})); };
    if (state.hovered >= 0 && state.hovered !== state.chosen) ring(state.hovered, 9);
    if (state.chosen >= 0 && placed(state.chosen)) {
      for (const [x1, y1, x2, y2] of bars_of(state.chosen)) inside.push(shape("line", {class: "stem", x1, y1, x2, y2}));
      ring(state.chosen, 11);
    }
    one("map").querySelector(".over").replaceChildren(
      shape("clipPath", {id: "inside"}, shape("rect", {x: ROOM.left, y: ROOM.top, width: area.across, height: area.down})),
      ...ticks("x").map((value) => shape("text", {x: x_of(value), y: bottom + 17, "text-anchor": "middle"}, told(value, loss.unit))),
      ...ticks("y").map((value) => shape("text", {x: ROOM.left - 7, y: y_of(value) + 4, "text-anchor": "end"}, told(value, risk.unit))),
      shape("text", {x: right, y: bottom + 38, "text-anchor": "end", class: "strong"}, `${loss.label} \u2192`),
      shape("text", {x: 2, y: 14, class: "strong"}, `\u2191 ${risk.label}`),
      shape("g", {"clip-path": "url(#inside)"}, inside), ...(area.box ? [shape("rect", {class: "box", ...area.box})] : []));
  };
