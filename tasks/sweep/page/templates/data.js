  const raw = JSON.parse(one("data").textContent);
  const SPACE = "\u202f", DASH = "\u2013", n = raw.pipeline.codes.length;
  const NUMBERS = raw.numbers ?? Array.from({length: n}, (_, i) => i);
  const state = {view: 0, chosen: -1, hovered: -1, filters: new Map(), log: {x: false, y: false}, zoom: null};
  const shape = (name, attributes = {}, content = "") => make(name, content, attributes, document.createElementNS("http://www.w3.org/2000/svg", name));

  const FACTOR = {share: 100}, NAMED = {share: "%", percent: "%", records: "records", persons: "persons", sd: "sd"};
  const factor = (unit) => FACTOR[unit] ?? 1;
  const WHOLE = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
  const ROUNDED = Object.fromEntries([3, 4, 6].map((most) => [most, new Intl.NumberFormat("en", {maximumSignificantDigits: most})]));
  const digits = (value, most) => value !== 0 && Math.abs(value) < 1e-4 ? (value > 0 ? "under 0.0001" : "over \u22120.0001")
    : (Math.abs(value) >= 10 ** most ? WHOLE : ROUNDED[most]).format(value).replace("-", "\u2212");
  const told = (value, unit, most = 3) => Number.isNaN(value) ? DASH : digits(value * factor(unit), most) + (NAMED[unit] ? SPACE + NAMED[unit] : "");

  const floats = (values) => Float64Array.from(values, (value) => value ?? NaN);
  const spread = (given) => {
    const at = floats(given.mean);
    return {...given, at, low: given.low ? floats(given.low) : at, high: given.high ? floats(given.high) : at};
  };
  const coded = ({levels, codes}) => ({levels, at: Float64Array.from(codes, (code) => code < 0 ? NaN : code)});
  const loss = {key: "loss", ...spread(raw.loss)};
  const views = raw.views.map(spread);
  const view = () => views[state.view];
  for (const one of views) {
    one.on = new Float64Array(n);
    for (const i of one.frontier) one.on[i] = 1;
    one.by = Float64Array.from(one.from, (from, i) => one.to[i] - from);
  }
  const POLICY = {kept: "kept", broken: "not kept", undecided: "undecided", none: "not decided"};
  const pipeline = {key: "pipeline", label: "Pipeline", ...coded(raw.pipeline)}, method = {key: "method", label: "Method", ...coded(raw.method)};
  const status = {key: "status", label: "Status", ...coded(raw.status)};
  const policy = {key: "policy", label: "Policy", ...coded({...raw.policy, levels: raw.policy.levels.map((level) => POLICY[level])})};
  const axes = raw.axes.map((axis) => ({key: `axis ${axis.path}`, label: axis.label, path: axis.path, ...(axis.levels ? coded(axis) : {at: floats(axis.values)})}));
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
  const measures = figures.filter((figure) => figure.main);
  const kept = Uint8Array.from(policy.at, (code) => raw.policy.levels[code] === "kept" ? 1 : 0);
  const placed = (i) => !Number.isNaN(risk.at[i] + loss.at[i]);
  const parameters = (i, among = axes) => among.filter((axis) => !Number.isNaN(axis.at[i])).map((axis) => `${axis.label} = ${said(axis, axis.at[i])}`).join(", ");
  const ends = (column, i) => column.low[i] === column.high[i] ? "" : `${told(column.low[i], column.unit)} to ${told(column.high[i], column.unit)}`;
  const risk_and_loss = (i) => `Risk ${told(risk.at[i], risk.unit)}, loss ${told(loss.at[i], loss.unit)}`;
