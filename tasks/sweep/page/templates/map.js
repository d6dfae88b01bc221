  const ROOM = {left: 62, right: 16, top: 30, bottom: 46};
  const PADDING = 0.03, NEAR = 18, FEW = 300;
  const area = {width: 0, height: 0, ratio: 1, xs: new Float32Array(n), ys: new Float32Array(n)};
  const placed = (i) => view().there[i] === 1;
  const side = {x: loss, y: risk};

  const floor_of = (column) => column.at.reduce((least, value) => value > 0 && value < least ? value : least, Infinity);
  const scaled = (axis, value) => state.log[axis] ? Math.log10(Math.max(value, area.floor[axis])) : value;
  const whole = () => {
    const found = {};
    for (const [axis, column] of Object.entries(side)) {
      let least = Infinity, most = -Infinity;
      const at = column.at, there = view().there;
      for (let i = 0; i < n; i++) if (there[i]) { least = Math.min(least, at[i]); most = Math.max(most, at[i]); }
      [least, most] = [scaled(axis, least), scaled(axis, most)];
      if (!Number.isFinite(most - least)) [least, most] = [0, 1];
      if (!state.log[axis]) least = Math.min(0, least);
      const pad = (most - least || 1) * PADDING;
      found[axis] = [least - pad, most + pad];
    }
    return found;
  };
  const frame = () => {
    area.floor = {x: floor_of(loss) / 1.5, y: floor_of(risk) / 1.5};
    area.window = state.zoom ?? whole();
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
  const unscaled = (axis, value) => state.log[axis] ? 10 ** value : value;
  const ticks = (low, high, most) => {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough)), step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    return Array.from({length: Math.floor(high / step) - Math.ceil(low / step) + 1}, (_, i) => Number(((Math.ceil(low / step) + i) * step).toPrecision(12)));
  };
  const marks_of = (axis, most) => {
    const [low, high] = area.window[axis];
    if (!state.log[axis]) return ticks(low, high, most);
    if (high - low < 0.8) return ticks(10 ** low, 10 ** high, most);
    const wanted = high - low > most ? [1] : [1, 2, 5], found = [];
    for (let power = Math.floor(low); power <= high; power++)
      for (const lead of wanted) if (lead * 10 ** power >= 10 ** low && lead * 10 ** power <= 10 ** high) found.push(lead * 10 ** power);
    return found.length > 1 ? found.filter((_, i) => i % Math.ceil(found.length / (most + 2)) === 0) : ticks(10 ** low, 10 ** high, most);
  };

  const fit = (holder) => {
    const canvas = holder.querySelector("canvas"), ratio = Math.min(2, window.devicePixelRatio || 1);
    const [width, height] = [holder.clientWidth, holder.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return {pen, width, height, ratio};
  };
  const draw_map = () => {
    const {pen, width, height, ratio} = fit(one("map"));
    Object.assign(area, {width, height, ratio});
    if (!width) return;
    frame();
    pen.save();
    pen.beginPath();
    pen.rect(ROOM.left, ROOM.top, area.across, area.down);
    pen.clip();
    draw_region(pen);
    draw_grid(pen);
    pen.fillStyle = theme.faint;
    const {there, on} = view(), {xs, ys} = area, layers = [[], [], []];
    for (let i = 0; i < n; i++) {
      if (!there[i]) continue;
      if (mask[i]) layers[on[i] ? 2 : kept[i]].push(i);
      else pen.fillRect(xs[i] - 1.5, ys[i] - 1.5, 3, 3);
    }
    draw_bars(pen);
    layers.forEach((points) => draw_layer(pen, points));
    pen.restore();
    draw_over();
  };
  const draw_layer = (pen, points) => {
    const {xs, ys, ratio} = area, wide = Math.ceil(area.width * ratio) + 1, drawn = new Int32Array(wide * (Math.ceil(area.height * ratio) + 1));
    let key = -1, stamp = null;
    for (const i of points) {
      const wanted = (look.kinds[i] * 2 + kept[i]) * STEPS + look.sizes[i];
      if (wanted !== key) [key, stamp] = [wanted, sprite(look.kinds[i], kept[i], look.sizes[i], ratio)];
      const x = Math.round(xs[i] * ratio), y = Math.round(ys[i] * ratio), spot = y * wide + x;
      if (x < 0 || x >= wide || drawn[spot] === key + 1) continue;  // the same mark on the same pixel: thousands are not seen, but take their time
      drawn[spot] = key + 1;
      pen.drawImage(stamp.made, x / ratio - stamp.half, y / ratio - stamp.half, 2 * stamp.half, 2 * stamp.half);
    }
  };
  const draw_region = (pen) => {
    if (raw.loss.limit === null && view().limit === null) return;
    const right = raw.loss.limit === null ? area.width : x_of(raw.loss.limit), top = view().limit === null ? 0 : y_of(view().limit);
    pen.fillStyle = theme.region;
    pen.fillRect(0, top, right, area.height - top);
  };
  const draw_grid = (pen) => {
    pen.strokeStyle = theme.line;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const value of marks_of("x", area.across / 90)) { pen.moveTo(x_of(value), 0); pen.lineTo(x_of(value), area.height); }
    for (const value of marks_of("y", area.down / 55)) { pen.moveTo(0, y_of(value)); pen.lineTo(area.width, y_of(value)); }
    pen.stroke();
  };
  const draw_bars = (pen) => {
    const wanted = one("bars").value, every = wanted === "all" || wanted === "few" && shown <= FEW;
    if (wanted === "none") return;
    pen.strokeStyle = theme.soft;
    pen.globalAlpha = every && shown > FEW ? 0.35 : 0.75;
    pen.beginPath();
    for (const i of every ? mask.keys() : view().frontier) {
      if (!mask[i] || !placed(i)) continue;
      const [x, y] = [x_of(loss.at[i]), y_of(risk.at[i])];
      if (risk.low[i] !== risk.high[i]) { pen.moveTo(x, y_of(risk.low[i])); pen.lineTo(x, y_of(risk.high[i])); }
      if (loss.low[i] !== loss.high[i]) { pen.moveTo(x_of(loss.low[i]), y); pen.lineTo(x_of(loss.high[i]), y); }
    }
    pen.stroke();
    pen.globalAlpha = 1;
  };

  const draw_over = () => {
    const parts = [], over = one("map").querySelector(".over"), bottom = ROOM.top + area.down;
    const clip = shape("clipPath", {id: "inside"});
    clip.append(shape("rect", {x: ROOM.left, y: ROOM.top, width: area.across, height: area.down}));
    parts.push(clip);
    for (const value of marks_of("x", area.across / 90)) parts.push(shape("text", {x: x_of(value), y: bottom + 17, "text-anchor": "middle"}, told(value, loss.unit)));
    for (const value of marks_of("y", area.down / 55)) parts.push(shape("text", {x: ROOM.left - 7, y: y_of(value) + 4, "text-anchor": "end"}, told(value, risk.unit)));
    parts.push(shape("text", {x: ROOM.left + area.across, y: bottom + 38, "text-anchor": "end", class: "strong"}, `${loss.label} \u2192`));
    parts.push(shape("text", {x: 2, y: 14, class: "strong"}, `\u2191 ${risk.label}`));
    parts.push(shape("path", {class: "front", "clip-path": "url(#inside)", d: staircase()}));
    if (state.hovered >= 0 && state.hovered !== state.chosen) parts.push(...ringed(state.hovered, 9));
    if (state.chosen >= 0 && placed(state.chosen)) parts.push(...stems(state.chosen), ...ringed(state.chosen, 11));
    if (area.box) parts.push(shape("rect", {class: "box", ...area.box}));
    over.replaceChildren(...parts);
  };
  const staircase = () => view().frontier.map((i, place) => place
    ? `H${x_of(loss.at[i]).toFixed(1)}V${y_of(risk.at[i]).toFixed(1)}` : `M${x_of(loss.at[i]).toFixed(1)},${y_of(risk.at[i]).toFixed(1)}`).join("");
  const ringed = (i, r) => ["halo", "ring"].map((name) => shape("circle", {class: name, cx: x_of(loss.at[i]), cy: y_of(risk.at[i]), r, "clip-path": "url(#inside)"}));
  const stems = (i) => [
    shape("line", {class: "stem", x1: x_of(loss.low[i]), x2: x_of(loss.high[i]), y1: y_of(risk.at[i]), y2: y_of(risk.at[i]), "clip-path": "url(#inside)"}),
    shape("line", {class: "stem", x1: x_of(loss.at[i]), x2: x_of(loss.at[i]), y1: y_of(risk.low[i]), y2: y_of(risk.high[i]), "clip-path": "url(#inside)"}),
  ];
