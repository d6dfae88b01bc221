  const SHAPES = {{ shapes }}, KINDS = {{ kinds }}, STEPS = 12, SEPARATE = 1500, NARROW = 480;
  const look = {}, style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const corners = (kind) => SHAPES[(kind + Math.floor(kind / KINDS)) % SHAPES.length];

  const radius_of = (step) => {
    const usual = (n <= 150 ? 5.5 : n <= SEPARATE ? 4 : 3) * (area.width < NARROW ? 0.75 : 1);
    return look.size ? usual * (0.55 + 1.7 * Math.sqrt(step / (STEPS - 1))) : usual;
  };
  const outline = (kind, radius) => {
    const path = new Path2D();
    for (const [x, y] of corners(kind)) path.lineTo(x * radius, -y * radius);
    path.closePath();
    return path;
  };
  const tones_of = () => [...look.levels, ""].map((_, kind) => colour(`kind-${kind % KINDS}`));
  const draw_marks = (pen, points, xs, ys) => {
    const paths = new Map(), tones = tones_of(), paper = colour("paper");
    for (const i of points) {
      const kind = look.kinds[i], key = kind * STEPS + look.sizes[i];
      if (!paths.has(key)) paths.set(key, outline(kind, radius_of(look.sizes[i])));
      pen.save();
      pen.translate(xs[i], ys[i]);
      [pen.fillStyle, pen.strokeStyle, pen.lineWidth, pen.globalAlpha] = kept[i] ? [tones[kind], paper, 0.7, 0.9] : [paper, tones[kind], 1.4, 0.35];
      pen.fill(paths.get(key));
      pen.globalAlpha = 1;
      if (!kept[i] || n <= SEPARATE) pen.stroke(paths.get(key));
      pen.restore();
    }
  };
  const picture = (kind, filled = true, tone = `var(--kind-${kind % KINDS})`) => {
    const points = corners(kind).map(([x, y]) => `${10 + 6.5 * x},${10 - 6.5 * y}`).join(" ");
    const mark = shape("polygon", {points, fill: filled ? tone : "none", stroke: tone, "stroke-width": 2});
    return shape("svg", {class: "mark", viewBox: "0 0 20 20", "aria-hidden": "true"}, mark);
  };
  const picture_of = (i) => picture(look.kinds[i], Boolean(kept[i]));
  const look_by = (column, size = null) => {
    const values = column.levels ? null : distinct(column), sizes = size ? distinct(size) : [], range = sizes.at(-1) - sizes[0];
    Object.assign(look, {colour: column, size, levels: column.levels ?? values.map((value) => said(column, value))});
    look.kinds = Int32Array.from(column.at, (value) => Number.isNaN(value) ? look.levels.length : values ? values.indexOf(value) : value);
    look.sizes = Uint8Array.from(size?.at ?? new Uint8Array(n), (value) => Math.round((STEPS - 1) * (value - sizes[0]) / range));
    const entries = [...look.levels, ...(column.at.some(Number.isNaN) ? [`no ${column.label}`] : [])].map((level, kind) => [picture(kind), level]);
    if (kept.some(Boolean) || raw.policy.levels.includes("broken"))
      for (const [filled, words] of [[true, "keeps the policy"], [false, "does not keep it"]]) entries.push([picture(0, filled, "var(--soft)"), words]);
    if (size) entries.push(`larger: more ${size.label}, ${said(size, sizes[0])} to ${said(size, sizes.at(-1))}`);
    one("legend").replaceChildren(...entries.map((entry) => make("span", entry, {class: "key-mark"})));
  };
