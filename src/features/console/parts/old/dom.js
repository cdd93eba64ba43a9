// Elements made by script. Text always stays text, so that nothing in a message can become part of the page.

/**
 * @typedef {Node | string | number | false | null | undefined} Child
 * @typedef {Child | readonly Children[]} Children
 * @typedef {Readonly<Record<string, unknown>>} Props
 */

/**
 * Makes an element. `props` is its class, or an object with its attributes; members such as `onclick` are listeners.
 * Children that are false, null or undefined are left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | Props | null} [props]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props, ...children) {
  const made = document.createElement(tag);
  if (typeof props === 'string') made.className = props;
  else set(made, props ?? {});
  put(made, children);
  return made;
}

/**
 * Makes an SVG element.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...Children} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  set(made, props ?? {});
  put(made, children);
  return made;
}

/**
 * Returns one of the page's symbols. Screen readers skip it, so a word must stand beside it, or its button needs a
 * label.
 * @param {string} name
 * @param {string} [kind]
 */
export const icon = (name, kind = '') =>
  svg('svg', { class: `i ${kind}`.trim(), 'aria-hidden': 'true' }, svg('use', { href: `#i-${name}` }));

let ids = 0;

/** Returns an id that no other element of the page has. */
export function newId() {
  ids += 1;
  return `i${ids}`;
}

/**
 * Replaces what an element contains.
 * @template {Element} Parent
 * @param {Parent} parent
 * @param {...Children} children
 * @returns {Parent}
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  put(parent, children);
  return parent;
}

/**
 * Attributes to set as properties. Once the user or the page has changed such a property, setting the attribute has no
 * effect.
 */
const PROPERTIES = new Set(['value', 'checked', 'selected']);

/**
 * @param {Element} made
 * @param {Props} props
 */
function set(made, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (PROPERTIES.has(name)) Reflect.set(made, name, value);
    else made.setAttribute(name, value === true ? '' : String(value));
  }
}

/**
 * @param {Element} parent
 * @param {readonly Children[]} children
 */
function put(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) put(parent, child);
    else if (child instanceof Node) parent.append(child);
    else if (child !== undefined && child !== null && child !== false) parent.append(String(child));
  }
}
