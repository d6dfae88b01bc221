  const BIASED = "A figure that was chosen among so many points is biased low: promoting the point draws a fresh seed and measures anew.";
  const MOST_NAMED = 8;
  const facts = (pairs, kind = "") => {
    const list = make("dl", "", {class: kind});
    for (const [what, value, between] of pairs) {
      const data = make("dd", value);
      if (between) data.append(make("small", between));
      list.append(make("dt", what), data);
    }
    return list;
  };
  const figure = (column, i, label = column.label) => [label, told(column.at[i], column.unit, 4), ends(column, i)];
  const jumps = (points) => {
    const line = make("p", "", {class: "row"});
    line.append(...points.slice(0, MOST_NAMED).map((i) => button(String(NUMBERS[i]), () => choose(i), {"aria-label": `Point ${NUMBERS[i]}`})));
    if (points.length > MOST_NAMED) line.append(` and ${counted(points.length - MOST_NAMED)} more`);
    return line;
  };
  const dominance = (i) => {
    if (!placed(i)) return [];
    const {from, to, frontier: front} = view(), better = front.slice(from[i], to[i]);
    let worse = 0;
    for (let j = 0; j < n; j++) if (risk.at[j] >= risk.at[i] && loss.at[j] >= loss.at[i] && (risk.at[j] > risk.at[i] || loss.at[j] > loss.at[i])) worse++;
    const beats = `It dominates ${counted(worse)} others.`;
    if (!better.length) return [make("h4", "On the frontier"), make("p", `No other point dominates it. ${beats}`)];
    return [make("h4", `Dominated by ${counted(better.length)} of the frontier`), jumps(better), make("p", beats)];
  };
  const copied = (block, name) => button("Copy", async (event) => {
    const range = document.createRange();
    range.selectNodeContents(block);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    try { await navigator.clipboard.writeText(block.textContent); } catch { document.execCommand("copy"); }
    event.target.textContent = "Copied";
    one("said").textContent = `${name} copied`;
  }, {"aria-label": `Copy the ${name}`});
  const block = (title, text, name, kind) => {
    const body = make("pre", text, {class: kind, tabindex: "0", "aria-label": name, role: "group"}), line = make("h4", title);
    line.append(" ", copied(body, name));
    line.className = "row";
    return [line, body];
  };
  const promotion = (i) => {
    const slug = document.querySelector("h1").textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "sweep";
    const command = `sdcert sweep promote ${raw.sweep} ${NUMBERS[i]} -o params/releases/${slug}-${NUMBERS[i]}.yaml`;
    const lines = raw.releases.of[NUMBERS[i]];
    const file = lines ? block("Release file", lines.map((line) => raw.releases.lines[line]).join("\n") + "\n", "release file", "file")
      : [make("p", "The text of this release file was left out of the page for lack of room; the command writes it.", {class: "soft"})];
    return [...block("To certify it", command, "command", "command"), make("p", BIASED, {class: "warn"}), ...file];
  };
  const empty = () => {
    const line = make("p", "", {class: "row"}), front = along();
    if (front.length) line.append(button("Start at the frontier", () => choose(front[0])));
    return [make("h3", "No point chosen"), make("p", "Choose a mark on the map or a point in the table to see its figures, what beats it, and the release file that makes it."), line];
  };
  const step = () => {
    const line = make("p", "", {class: "row"});
    line.append(button("\u2190 Frontier", () => walk(along(), -1), {"aria-label": "Previous on the frontier"}),
      button("Frontier \u2192", () => walk(along(), 1), {"aria-label": "Next on the frontier"}), button("Let go", () => choose(-1)));
    return line;
  };
  const told_all = (i) => {
    const others = views.filter((one) => one !== view()).map((one) => figure(one, i, `Risk by ${one.title}`));
    const title = make("h3"), rest = make("details");
    title.append(picture(look.kinds[i], Boolean(kept[i])), `Point ${NUMBERS[i]}: ${said(pipeline, pipeline.at[i])}`);
    rest.append(make("summary", `All ${figures.length} figures`), facts(figures.filter((one) => !Number.isNaN(one.at[i])).map((one) => figure(one, i))));
    const state_of = [["Policy", said(policy, policy.at[i])], ["Status", said(status, status.at[i])]];
    const why = raw.reason.levels[raw.reason.codes[i]];
    const given = axes.filter((axis) => !Number.isNaN(axis.at[i])).map((axis) => [axis.label, said(axis, axis.at[i])]);
    return [title, step(), facts([figure(risk, i, `Risk: ${risk.label}`), figure(loss, i, `Loss: ${loss.label}`)], "main"), facts([...others, ...state_of]),
      ...(why ? [make("p", why, {class: "warn"})] : []), make("h4", "Parameters"), given.length ? facts(given) : make("p", "as in the sweep file"),
      ...dominance(i), ...(raw.status.levels[raw.status.codes[i]] === "ok" ? promotion(i) : []), ...(figures.length ? [rest] : [])];
  };
  const choose = (i) => {
    const opened = one("point").querySelector("details")?.open;
    state.chosen = i;
    one("point").replaceChildren(...(i < 0 ? empty() : told_all(i)));
    if (opened && one("point").querySelector("details")) one("point").querySelector("details").open = true;
    one("said").textContent = i < 0 ? "No point chosen" : `Point ${NUMBERS[i]}, ${said(pipeline, pipeline.at[i])}, ${parameters(i)}. `
      + `Risk ${told(risk.at[i], risk.unit)}, loss ${told(loss.at[i], loss.unit)}. ${view().on[i] ? "On the frontier. " : ""}Policy ${said(policy, policy.at[i])}.`;
    history.replaceState(null, "", i < 0 ? location.pathname + location.search : `#point-${NUMBERS[i]}`);
    draw_over();
    draw_axes();
    for (const line of one("rows").children) line.classList.toggle("chosen", line.firstChild.textContent === String(NUMBERS[i]));
  };
