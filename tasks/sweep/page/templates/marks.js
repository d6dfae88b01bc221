  const SHAPES = {{ shapes }}, KINDS = {{ kinds }}, STEPS = 12, SEPARATE = 1500, NARROW = 480;
  const corners = (kind) => SHAPES[(kind + Math.floor(kind / KINDS)) % SHAPES.length];
  const theme = {};
  const sprites = new Map();
  const look = {colour: pipeline, levels: pipeline.levels, kinds: new Int32Array(n), sizes: new Uint8Array(n), size: null};

  const learn_theme = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "soft", "line", "paper", "region", "faint", ...Array.from({length: KINDS}, (_, i) => `kind-${i}`)])
      theme[name] = style.getPropertyValue(`--${name}`).trim();
    sprites.clear();
  };
  const colour_of = (kind) => theme[`kind-${kind % KINDS}`];
  const path_of = (pen, kind, x, y, radius) => {
    pen.beginPath();
    corners(kind).forEach(([across, up], i) => pen[i ? "lineTo" : "moveTo"](x + across * radius, y - up * radius));
    pen.closePath();
  };
  const radius_of = (step) => {
    const usual = (n <= 150 ? 5.5 : n <= SEPARATE ? 4 : 3) * (area.width < NARROW ? 0.75 : 1);
    return look.size ? usual * (0.55 + 1.7 * Math.sqrt(step / (STEPS - 1))) : usual;
  };
  const sprite = (kind, filled, step, ratio) => {
    const key = ((kind * 2 + filled) * STEPS + step) * 8 + Math.round(ratio * 2);
    if (sprites.has(key)) return sprites.get(key);
    const radius = radius_of(step), half = Math.ceil(radius * 1.5 + 2), made = document.createElement("canvas");
    made.width = made.height = Math.ceil(2 * half * ratio);
    const pen = made.getContext("2d");
    pen.scale(ratio, ratio);
    path_of(pen, kind, half, half, radius);
    pen.fillStyle = filled ? colour_of(kind) : theme.paper;
    pen.globalAlpha = filled ? 0.9 : 0.35;
    pen.fill();
    pen.globalAlpha = 1;
    pen.lineWidth = filled ? 0.7 : 1.4;
    pen.strokeStyle = filled ? theme.paper : colour_of(kind);
    if (!filled || n <= SEPARATE) pen.stroke();
    sprites.set(key, {made, half});
    return sprites.get(key);
  };
  const picture = (kind, filled = true, tone = `var(--kind-${kind % KINDS})`) => {
    const made = shape("svg", {class: "mark", viewBox: "0 0 20 20", "aria-hidden": "true"});
    const points = corners(kind).map(([x, y]) => `${10 + 6.5 * x},${10 - 6.5 * y}`).join(" ");
    made.append(shape("polygon", {points, fill: filled ? tone : "none", stroke: tone, "stroke-width": 2}));
    return made;
  };
  const colour_by = (column) => {
    const values = column.levels ? null : distinct(column);
    look.colour = column;
    look.levels = column.levels ?? values.map((value) => said(column, value));
    look.none = column.at.some(Number.isNaN);
    for (let i = 0; i < n; i++) {
      const value = column.at[i];
      look.kinds[i] = Number.isNaN(value) ? look.levels.length : values ? values.indexOf(value) : value;
    }
    sprites.clear();
  };
  const size_by = (column) => {
    look.size = column;
    const values = column ? distinct(column) : [], least = values[0], most = values.at(-1);
    for (let i = 0; i < n; i++) {
      const share = column && most > least ? (column.at[i] - least) / (most - least) : 0;
      look.sizes[i] = Math.round((Number.isNaN(share) ? 0 : share) * (STEPS - 1));
    }
    sprites.clear();
  };
  const legend = () => {
    const items = [...look.levels, ...(look.none ? [`no ${look.colour.label}`] : [])].map((level, kind) => {
      const item = make("span", "", {class: "key-mark"});
      item.append(picture(kind), level);
      return item;
    });
    for (const [filled, words] of [[true, "keeps the policy"], [false, "does not keep it"]]) {
      const item = make("span", "", {class: "key-mark"});
      item.append(picture(0, filled, "var(--soft)"), words);
      if (kept.some(Boolean) || raw.policy.levels.includes("broken")) items.push(item);
    }
    if (look.size) {
      const values = distinct(look.size);
      items.push(make("span", `larger: more ${look.size.label}, ${said(look.size, values[0])} to ${said(look.size, values.at(-1))}`, {class: "key-mark"}));
    }
    one("legend").replaceChildren(...items);
  };
