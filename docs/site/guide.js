import MiniSearch from 'minisearch';

const SCHEMES = ['auto', 'light', 'dark'];
const base = document.documentElement.dataset.base ?? '';

// Before anything is painted. A browser that stores nothing shows the scheme of the system.
showScheme(storedScheme());

document.addEventListener('DOMContentLoaded', () => {
  const byId = (id) => document.getElementById(id);
  const scheme = byId('scheme');
  const menu = byId('menu');
  const input = byId('search');
  const results = byId('results');

  nameScheme(storedScheme());
  scheme.addEventListener('click', () => {
    const next = SCHEMES[(SCHEMES.indexOf(storedScheme()) + 1) % SCHEMES.length];
    try {
      localStorage.setItem('postern-scheme', next);
    } catch {
      // Shown on this page alone.
    }
    showScheme(next);
    nameScheme(next);
  });
  menu.addEventListener('click', () => {
    const isOpen = document.body.classList.toggle('menu');
    menu.setAttribute('aria-expanded', String(isOpen));
  });
  document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest' });
  for (const block of document.querySelectorAll('pre[data-lang]')) addCopy(block);

  input.addEventListener('input', () => void show());
  input.addEventListener('focus', () => void index());
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (key === '/' && !target.matches('input, textarea')) {
      event.preventDefault();
      input.focus();
    } else if (key === 'Escape' && !results.hidden) {
      input.value = '';
      results.hidden = true;
      input.focus();
    } else if (key === 'Enter' && target === input) results.querySelector('a')?.click();
    else if ((key === 'ArrowDown' || key === 'ArrowUp') && results.contains(document.activeElement.parentElement)) {
      event.preventDefault();
      step(key === 'ArrowDown' ? 1 : -1);
    } else if (key === 'ArrowDown' && target === input) {
      event.preventDefault();
      results.querySelector('a')?.focus();
    }
  });
  document.addEventListener('click', ({ target }) => {
    if (target.closest('.search') === null) results.hidden = true;
    else if (target.closest('#results a') !== null) {
      results.hidden = true;
      input.value = '';
    }
  });

  function nameScheme(name) {
    scheme.textContent = `${name[0].toUpperCase()}${name.slice(1)}`;
    scheme.setAttribute('aria-label', `Colours: ${name}`);
  }

  function step(by) {
    const links = [...results.querySelectorAll('a')];
    (links[links.indexOf(document.activeElement) + by] ?? input).focus();
  }

  async function show() {
    const asked = input.value.trim();
    const hits = asked === '' ? [] : (await index()).search(asked).slice(0, 12);
    if (asked !== input.value.trim()) return;
    results.replaceChildren(...hits.map((hit) => result(hit, asked)));
    if (hits.length === 0) results.append(item(document.createTextNode('Nothing found.')));
    results.hidden = asked === '';
  }
});

let indexing;
/** Read and indexed when the search is first used. */
function index() {
  indexing ??= (async () => {
    const parts = await (await fetch(document.documentElement.dataset.search)).json();
    const made = new MiniSearch({
      fields: ['heading', 'page', 'text'],
      storeFields: ['heading', 'page', 'text', 'url', 'part'],
      idField: 'number',
      searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
    });
    made.addAll(parts.map((part, number) => ({ ...part, number })));
    return made;
  })().catch((error) => {
    indexing = undefined;
    throw error;
  });
  return indexing;
}

function result({ heading, page, text, url, part, terms }) {
  const link = document.createElement('a');
  link.href = `${base}${url}${part === '' ? '' : `#${part}`}`;
  const title = document.createElement('strong');
  title.textContent = heading === '' || heading === page ? page : `${page} › ${heading}`;
  const excerpt = document.createElement('span');
  const at = Math.max(0, text.toLowerCase().indexOf(terms[0] ?? '') - 40);
  excerpt.textContent = `${at > 0 ? '… ' : ''}${text.slice(at, at + 140)}`;
  link.append(title, excerpt);
  return item(link);
}

function item(content) {
  const made = document.createElement('li');
  made.append(content);
  return made;
}

function addCopy(block) {
  const button = document.createElement('button');
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent.trimEnd());
    button.textContent = 'Copied';
  });
  const frame = document.createElement('div');
  frame.className = 'block';
  block.replaceWith(frame);
  frame.append(block, button);
}

function storedScheme() {
  try {
    const stored = localStorage.getItem('postern-scheme');
    return SCHEMES.includes(stored) ? stored : 'auto';
  } catch {
    return 'auto';
  }
}

function showScheme(name) {
  if (name === 'auto') delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = name;
}
