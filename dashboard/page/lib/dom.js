/**
 * Building and updating the page: `h` makes elements, `morph` changes what is there into what
 * should be there. Focus, scroll places and open details survive, so the page can be drawn anew
 * with each snapshot.
 */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "line", "rect", "g", "text", "circle", "title"]);
const HANDLERS = /** @type {const} */ ([
  "onclick",
  "onkeydown",
  "onpointermove",
  "onpointerleave",
  "onblur",
]);

/**
 * @typedef {string | number | Node | null | undefined | false} Child
 * @typedef {string | number | boolean | null | undefined} Attribute
 * @typedef {Attribute | Record<string, string> | ((event: any) => void)} Prop
 * @typedef {Record<string, Prop>} Props
 */

/**
 * @param {string} tag
 * @param {Props} [props] attributes; `style` is an object of custom properties, `on...` a handler
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement | SVGElement}
 */
export function h(tag, props = {}, ...children) {
  const element = SVG_TAGS.has(tag)
    ? /** @type {SVGElement} */ (document.createElementNS(SVG, tag))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) setProp(element, name, value);
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) {
      element.append(typeof child === "number" ? String(child) : child);
    }
  }
  return element;
}

/**
 * @param {HTMLElement | SVGElement} element
 * @param {string} name
 * @param {Prop} value
 */
function setProp(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function") Object.assign(element, { [name]: value });
  else if (typeof value === "object") {
    for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
  } else element.setAttribute(name, value === true ? "" : String(value));
}

/**
 * @param {Element} from what is on the page
 * @param {Element} to what it should become
 */
export function morph(from, to) {
  syncAttributes(from, to);
  syncProperties(from, to);
  const keyed = new Map(
    Array.from(from.children, (child) => [child.getAttribute("data-key"), child]),
  );
  let place = from.firstChild;
  for (const next of Array.from(to.childNodes)) {
    const key = keyOf(next);
    const found = key === null ? place : (keyed.get(key) ?? null);
    if (found === null || !isSameKind(found, next)) {
      from.insertBefore(next, place);
      continue;
    }
    if (found === place) place = found.nextSibling;
    else from.insertBefore(found, place);
    morphNode(found, next);
  }
  removeFrom(place);
}

/**
 * @param {Node} found
 * @param {Node} next
 */
function morphNode(found, next) {
  if (found instanceof Element && next instanceof Element) morph(found, next);
  else if (found.nodeValue !== next.nodeValue) found.nodeValue = next.nodeValue;
}

/** @param {ChildNode | null} place this and all that follow */
function removeFrom(place) {
  while (place !== null) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}

/** @param {Node} node */
function keyOf(node) {
  return node instanceof Element ? node.getAttribute("data-key") : null;
}

/**
 * @param {Node} a
 * @param {Node} b
 */
function isSameKind(a, b) {
  return a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
}

/**
 * @param {Element} from
 * @param {Element} to
 */
function syncAttributes(from, to) {
  for (const { name } of Array.from(from.attributes)) {
    // Whether details are open is the reader's choice, and styles are synced apart.
    if (name === "style" || (name === "open" && from.nodeName === "DETAILS")) continue;
    if (!to.hasAttribute(name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (name !== "style" && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
}

/**
 * What no attribute carries: handlers, and styles, which the page's policy forbids as attributes.
 * @param {Element} from
 * @param {Element} to
 */
function syncProperties(from, to) {
  const source = /** @type {HTMLElement} */ (to);
  const target = /** @type {HTMLElement} */ (from);
  if (target.style.cssText !== source.style.cssText) target.style.cssText = source.style.cssText;
  for (const name of HANDLERS) Object.assign(target, { [name]: source[name] });
}
