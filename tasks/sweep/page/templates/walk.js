  const zoom_to = (window) => { state.zoom = window; draw_map(); };
  const zoom_by = (times, at = null) => {
    const found = {}, middle = at ?? [0, 1].map((end) => (area.window[end ? "y" : "x"][0] + area.window[end ? "y" : "x"][1]) / 2);
    ["x", "y"].forEach((axis, place) => { found[axis] = area.window[axis].map((end) => middle[place] + (end - middle[place]) / times); });
    zoom_to(found);
  };
  const inside = (x, y) => x >= ROOM.left && x <= area.width - ROOM.right && y >= ROOM.top && y <= area.height - ROOM.bottom;
  const nearest = (x, y) => {
    let found = -1, least = NEAR ** 2;
    const {there, on} = view(), {xs, ys} = area;
    for (let i = 0; i < n; i++) {
      if (!mask[i] || !there[i]) continue;
      const away = (xs[i] - x) ** 2 + (ys[i] - y) ** 2 - (on[i] ? 1 : 0);
      if (away < least && inside(xs[i], ys[i])) [found, least] = [i, away];
    }
    return found;
  };
  const hint = (i, x, y) => {
    const box = one("map").querySelector(".hint");
    box.hidden = i < 0;
    if (i < 0) return;
    const title = make("strong");
    title.append(picture(look.kinds[i], Boolean(kept[i])), ` ${NUMBERS[i]}: ${said(pipeline, pipeline.at[i])}`);
    box.replaceChildren(title, make("span", parameters(i)), make("span", `Risk ${told(risk.at[i], risk.unit)}, loss ${told(loss.at[i], loss.unit)}`));
    box.style.left = `${Math.max(0, Math.min(x + 16, area.width - box.offsetWidth - 4))}px`;
    box.style.top = `${y + box.offsetHeight + 20 > area.height ? y - box.offsetHeight - 14 : y + 16}px`;
  };
  const hover = (i, x, y) => {
    hint(i, x, y);
    if (i === state.hovered) return;
    state.hovered = i;
    draw_over();
  };
  const brush = (start, end) => {
    const [[left, top], [right, bottom]] = [from_pixels(Math.min(start[0], end[0]), Math.min(start[1], end[1])), from_pixels(Math.max(start[0], end[0]), Math.max(start[1], end[1]))];
    if (one("drag").value === "zoom") return zoom_to({x: [left, right], y: [bottom, top]});
    limit("loss", [unscaled("x", left), unscaled("x", right)]);
    limit("risk", [unscaled("y", bottom), unscaled("y", top)]);
    filter();
  };
  const follow_pointer = () => {
    const map = one("map");
    let start = null;
    const place = (event) => { const box = map.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const moved = (now) => start && Math.hypot(now[0] - start[0], now[1] - start[1]) > 6;
    map.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = place(event);
      map.setPointerCapture(event.pointerId);
    });
    map.addEventListener("pointermove", (event) => {
      const now = place(event);
      if (!start) return hover(nearest(...now), ...now);
      hint(-1);
      if (!moved(now)) return;
      area.box = {x: Math.min(start[0], now[0]), y: Math.min(start[1], now[1]), width: Math.abs(start[0] - now[0]), height: Math.abs(start[1] - now[1])};
      draw_over();
    });
    const finish = (event, act) => {
      const now = place(event), from = start;
      const dragged = moved(now);
      start = area.box = null;
      if (from && act) dragged ? brush(from, now) : choose(nearest(...now));
      draw_over();
    };
    map.addEventListener("pointerup", (event) => finish(event, true));
    map.addEventListener("pointercancel", (event) => finish(event, false));
    map.addEventListener("pointerleave", () => hover(-1));
    map.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom_by(event.deltaY < 0 ? 1.25 : 0.8, from_pixels(...place(event)));
    }, {passive: false});
  };

  const along = () => view().frontier.filter((i) => mask[i] && placed(i));
  const upwards = () => {
    const [risks, losses] = [risk.at, loss.at];
    return passing().filter(placed).sort((a, b) => risks[a] - risks[b] || losses[a] - losses[b]);
  };
  const walk = (points, by) => {
    if (!points.length) return;
    const at = points.indexOf(state.chosen);
    const next = at >= 0 ? at + by : state.chosen < 0 ? 0 : points.reduce((best, i, place) => gap(i) < gap(points[best]) ? place : best, 0);
    choose(points[Math.max(0, Math.min(points.length - 1, next))]);
  };
  const gap = (i) => Math.hypot(area.xs[i] - area.xs[state.chosen], area.ys[i] - area.ys[state.chosen]);
  const KEYS = {
    ArrowRight: () => walk(along(), 1), ArrowLeft: () => walk(along(), -1), ArrowUp: () => walk(upwards(), 1), ArrowDown: () => walk(upwards(), -1),
    Home: () => choose(along()[0] ?? -1), End: () => choose(along().at(-1) ?? -1), "+": () => zoom_by(1.5), "=": () => zoom_by(1.5), "-": () => zoom_by(1 / 1.5),
    0: () => zoom_to(null), Escape: () => choose(-1), Enter: () => one("point").focus(),
  };
  const follow_keys = () => one("map").addEventListener("keydown", (event) => {
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
