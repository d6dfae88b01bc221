"use strict";
(() => {
{% include "paged_table.js" %}
{% include "data.js" %}
{% include "marks.js" %}
{% include "filter.js" %}
{% include "map.js" %}
{% include "walk.js" %}
{% include "lines.js" %}
{% include "point.js" %}
{% include "start.js" %}
})();
