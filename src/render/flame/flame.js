// SPDX-License-Identifier: Apache-2.0
// Zoom, search and numbers for a flame graph: an SVG file with this script, or a part of an HTML page. Names are
// read as text and written as text, so nothing that the traced program controls becomes markup.
(function () {
	"use strict";

	var svg = document.querySelector("svg[data-bytes]");
	// Ctrl-F searches the graph only if the graph is alone: a page has other text to search.
	var alone = svg === document.documentElement;
	var left = Number(svg.getAttribute("data-x"));
	var width = Number(svg.getAttribute("data-width"));
	var total = Number(svg.getAttribute("data-bytes"));
	var unit = svg.getAttribute("data-unit") || "bytes";
	// Percentages are of all live bytes, as in the tooltips.
	var live = Number(svg.getAttribute("data-live"));
	// The last lines of a title have numbers.
	var numbers = Number(svg.getAttribute("data-numbers"));
	var details = document.querySelector("#details");
	var matched = document.querySelector("#matched");
	var zoomed = null;
	var term = "";

	// As in flame.c: the advance of a character, the padding of a label, the shortest label.
	var CHAR = 6.62, ROOM = 6, MIN_CHARS = 3;

	var frames = Array.prototype.map.call(svg.querySelectorAll("g.f"), function (g) {
		var title = g.querySelector("title").textContent.split("\n");
		var names = title.slice(0, -numbers);

		return {
			g: g,
			rect: g.querySelector("rect"),
			label: g.querySelector("text"),
			// Lines of the title: the name, the module if there is one, the numbers.
			name: names[0],
			origin: names.join("\n").toLowerCase(),
			// A name may be longer than the line.
			details: title.slice(-numbers).join(", ") + ": " + names.join(", "),
			level: Number(g.getAttribute("data-l")),
			offset: Number(g.getAttribute("data-o")),
			bytes: Number(g.getAttribute("data-b"))
		};
	});

	function place(frame, x, w) {
		var chars = Math.floor((w - ROOM) / CHAR);
		var name = Array.from(frame.name);
		var text = "";

		if (chars >= MIN_CHARS)
			text = name.length > chars ? name.slice(0, chars - 2).join("") + ".."
						   : frame.name;
		frame.rect.setAttribute("x", x.toFixed(2));
		frame.rect.setAttribute("width", w.toFixed(2));
		frame.label.setAttribute("x", (x + ROOM / 2).toFixed(2));
		frame.label.textContent = text;
	}

	// Zooms to a frame; null shows all memory.
	function zoom(to) {
		var offset = to ? to.offset : 0;
		var bytes = to ? to.bytes : total;
		var level = to ? to.level : 0;
		var end = offset + bytes;

		zoomed = to;
		frames.forEach(function (frame) {
			var inside = frame.offset >= offset && frame.offset + frame.bytes <= end;
			var above = frame.level < level && frame.offset <= offset &&
				    frame.offset + frame.bytes >= end;

			frame.g.classList.toggle("above", above);
			frame.g.style.display = above || (inside && frame.level >= level) ? "" : "none";
			if (above)
				place(frame, left, width);
			else if (inside)
				place(frame, left + (frame.offset - offset) / bytes * width,
				      frame.bytes / bytes * width);
		});
	}

	function percent(bytes) {
		return (live ? 100 * bytes / live : 0).toFixed(1) + " %";
	}

	// Finds any part of a name or a module, ignoring case. If a match is inside another one, its bytes
	// count once.
	function search(text) {
		var found = [], sum = 0, end = 0;

		term = text.toLowerCase();
		frames.forEach(function (frame) {
			var hit = term !== "" && frame.origin.indexOf(term) >= 0;

			frame.g.classList.toggle("match", hit);
			if (hit)
				found.push(frame);
		});
		found.sort(function (a, b) {
			return a.offset - b.offset || a.level - b.level;
		});
		found.forEach(function (frame) {
			if (frame.offset >= end) {
				sum += frame.bytes;
				end = frame.offset + frame.bytes;
			}
		});
		matched.textContent = term === "" ? "" : "matched " + percent(sum) + ", " + sum + " " + unit +
			", in " + found.length + " frames";
	}

	function ask() {
		var text = window.prompt("Search for a part of a name; nothing ends the search", term);

		if (text !== null)
			search(text);
	}

	frames.forEach(function (frame) {
		frame.g.addEventListener("click", function () {
			zoom(frame.level ? frame : null);
		});
		frame.g.addEventListener("mouseover", function () {
			details.textContent = frame.details;
		});
		frame.g.addEventListener("mouseout", function () {
			details.textContent = " ";
		});
	});
	// Calls `press` on a click, and on the keys Enter and Space.
	function button(selector, press) {
		var element = document.querySelector(selector);

		element.addEventListener("click", press);
		element.addEventListener("keydown", function (event) {
			if (event.key === "Enter" || event.key === " ") {
				event.preventDefault();
				press();
			}
		});
	}

	// In a page the graph is as wide as the page, and its text is not scaled.
	function fit() {
		var view = svg.getAttribute("viewBox").split(" ");
		var columns = svg.parentNode.clientWidth;

		if (columns > 2 * left && Number(view[2]) !== columns) {
			view[2] = columns;
			svg.setAttribute("viewBox", view.join(" "));
			svg.setAttribute("width", columns);
			width = columns - 2 * left;
			zoom(zoomed);
		}
	}

	if (!alone) {
		fit();
		window.addEventListener("resize", fit);
		// The root is at the bottom.
		if (!svg.hasAttribute("data-inverted"))
			svg.parentNode.scrollTop = svg.parentNode.scrollHeight;
	}
	button("#reset", function () {
		zoom(null);
	});
	button("#search", ask);
	window.addEventListener("keydown", function (event) {
		if (event.key === "Escape" && zoomed) {
			zoom(null);
		} else if (event.key === "/" || (alone && event.ctrlKey && event.key === "f")) {
			event.preventDefault();
			ask();
		}
	});
}());
