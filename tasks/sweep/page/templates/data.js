  const one = (id) => document.getElementById(id);
  const raw = JSON.parse(one("data").textContent);
  const SPACE = "\u202f", DASH = "\u2013", n = raw.pipeline.codes.length;
  const NUMBERS = raw.numbers ?? Array.from({length: n}, (_, i) => i);
  const state = {view: 0, chosen: -1, hovered: -1, filters: new Map(), log: {x: false, y: false}, zoom: null, order: "point", up: true, page: 0};

  const make = (name, text = "", attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const button = (text, act, attributes = {}) => {
    const made = make("button", text, {type: "button", ...attributes});
    made.addEventListener("click", act);
    return made;
  };
  const shape = (name, attributes = {}, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const listen = (id, kind, act) => one(id).addEventListener(kind, act);
  const counted = (number) => number.toLocaleString("en");

  const FACTOR = {share: 100}, NAMED = {share: "%", percent: "%", records: "records", persons: "persons", sd: "sd"};
  const factor = (unit) => FACTOR[unit] ?? 1;
  const formats = new Map();
  const digits = (value, most = 3) => {
    if (value !== 0 && Math.abs(value) < 1e-4) return value > 0 ? "under 0.0001" : "over \u22120.0001";
    const whole = Math.abs(value) >= 10 ** most, key = whole ? -1 : most;
    if (!formats.has(key)) formats.set(key, new Intl.NumberFormat("en", whole ? {maximumFractionDigits: 0} : {maximumSignificantDigits: most}));
    return formats.get(key).format(value).replace("-", "\u2212");
  };
  const told = (value, unit, most) => Number.isNaN(value) ? DASH
    : digits(value * factor(unit), most) + (NAMED[unit] ? SPACE + NAMED[unit] : "");

  const floats = (values) => Float64Array.from(values, (value) => value ?? NaN);
  const spread = (given) => {
    const at = floats(given.mean);
    return {...given, at, low: given.low ? floats(given.low) : at, high: given.high ? floats(given.high) : at};
  };
  const text = (key, label, {levels, codes}) => ({key, label, levels, at: Float64Array.from(codes, (code) => code < 0 ? NaN : code)});
  const loss = {key: "loss", ...spread(raw.loss)};
  const views = raw.views.map(spread);
  const view = () => views[state.view];
  for (const one of views) {
    one.place = new Int32Array(n).fill(-1);
    one.frontier.forEach((point, place) => { one.place[point] = place; });
    one.on = Float64Array.from(one.place, (place) => place < 0 ? 0 : 1);
    one.there = Uint8Array.from(one.at, (value, i) => Number.isNaN(value) || Number.isNaN(loss.at[i]) ? 0 : 1);
    one.by = Float64Array.from(one.from, (from, i) => one.to[i] - from);
  }
  const pipeline = text("pipeline", "Pipeline", raw.pipeline), method = text("method", "Method", raw.method);
  const status = text("status", "Status", raw.status);
  const POLICY = {kept: "kept", broken: "not kept", undecided: "undecided", none: "not decided"};
  const policy = text("policy", "Policy", {...raw.policy, levels: raw.policy.levels.map((level) => POLICY[level])});
  const axes = raw.axes.map((axis) => ({key: `axis ${axis.path}`, label: axis.label, path: axis.path,
    ...(axis.levels ? text("", axis.label, axis) : {at: floats(axis.values)}), key: `axis ${axis.path}`}));
  const figures = raw.figures.map((figure) => ({key: `figure ${figure.id}`, ...spread(figure)}));
  const risk = {key: "risk", get at() { return view().at; }, get low() { return view().low; }, get high() { return view().high; },
    get label() { return view().label; }, get unit() { return view().unit; }};
  const frontier = {key: "frontier", label: "On the frontier", levels: ["no", "yes"], get at() { return view().on; }};
  const beaten = {key: "by", label: "Dominated by", get at() { return view().by; }};
  const point = {key: "point", label: "Point", at: Float64Array.from(NUMBERS)};
  const columns = new Map([point, pipeline, method, status, policy, frontier, beaten, risk, loss, ...axes, ...figures].map((column) => [column.key, column]));
  const distinct = (column) => column.known ??= [...new Set(column.at)].filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const said = (column, value) => Number.isNaN(value) ? DASH : column.levels ? column.levels[value] : told(value, column.unit, column.unit ? 3 : 6);
  const varying = axes.filter((axis) => distinct(axis).length > 1 || axis.at.some(Number.isNaN));
  const kept = Uint8Array.from(policy.at, (code) => raw.policy.levels[code] === "kept" ? 1 : 0);
  const parameters = (i, among = axes) => among.filter((axis) => !Number.isNaN(axis.at[i])).map((axis) => `${axis.label} = ${said(axis, axis.at[i])}`).join(", ");
  const ends = (column, i) => column.low[i] === column.high[i] ? "" : `${told(column.low[i], column.unit)} to ${told(column.high[i], column.unit)}`;
