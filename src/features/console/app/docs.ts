// The reference page: Swagger UI over this service's own document. Makes no requests to other hosts, and none at all
// but for its own state until somebody switches them on.

import type { StatusReport } from '../../../core/model/status.ts';
import { call } from '../service/api.ts';
import { keptKey } from '../service/kept-key.ts';
import { applyScheme, keepPreference, SCHEMES, schemeNow } from '../service/preferences.ts';
import { foldedOperation } from './docs-operation.ts';
import { element } from './element.ts';

/** Swagger UI, which the page loads as a script. */
declare const SwaggerUIBundle: (options: object) => { preauthorizeApiKey(name: string, key: string): void };

// Swagger UI uses its dark colours only if the page has the class `dark-mode`.
const darkness = matchMedia('(prefers-color-scheme: dark)');
const isDark = (): boolean => (schemeNow() === 'auto' ? darkness.matches : schemeNow() === 'dark');
const SCHEME_WORDS = { auto: 'Auto', light: 'Light', dark: 'Dark' };

function follow(): void {
  applyScheme();
  document.documentElement.classList.toggle('dark-mode', isDark());
  element('scheme').textContent = SCHEME_WORDS[schemeNow()];
  element('scheme').setAttribute('aria-label', `Theme: ${SCHEME_WORDS[schemeNow()]}`);
}
darkness.addEventListener('change', follow);
element('scheme').addEventListener('click', () => {
  const next = SCHEMES[(SCHEMES.indexOf(schemeNow()) + 1) % SCHEMES.length] ?? 'auto';
  keepPreference('scheme', next, 'auto');
  follow();
});
follow();

/** Lists the parts of the reference beside it. */
function listParts(): void {
  const links = [...document.querySelectorAll<HTMLElement>('.opblock-tag')].map(({ id, dataset }) => {
    const link = document.createElement('a');
    link.href = `#${id}`;
    link.textContent = dataset.tag ?? '';
    return link;
  });
  element('parts').replaceChildren(...links);
}

/** Draws the reference, with or without what sends requests. */
function draw(maySend: boolean): void {
  const host = document.createElement('div');
  element('reference').replaceChildren(host);
  const reference = SwaggerUIBundle({
    url: new URL('openapi.json', location.href).href,
    domNode: host,
    deepLinking: true,
    filter: true,
    defaultModelsExpandDepth: 0,
    plugins: [foldedOperation],
    tryItOutEnabled: maySend,
    ...(!maySend && { supportedSubmitMethods: [] }),
    persistAuthorization: false,
    onComplete() {
      listParts();
      if (keptKey() !== '') reference.preauthorizeApiKey('key', keptKey());
    },
    // Removes the validator's badge, which would be loaded from another host.
    validatorUrl: null,
  });
}

/** The target of a request: a demo, Messages, or either, if nobody is signed in. */
type Target = 'demo' | 'live' | 'unknown';

const OFF: Readonly<Record<Target, string>> = {
  demo: 'This is the demo. The page sends no requests until you switch them on.',
  live: 'This is a live service. The page sends no requests until you switch them on.',
  unknown: 'The page sends no requests until you switch them on.',
};
const ON: Readonly<Record<Target, string>> = {
  demo: 'Execute sends a real request to the demo. Its people are simulated, so nothing leaves this machine.',
  live: 'Execute sends a real request to your Messages. A message goes out at once and cannot be taken back.',
  unknown: 'Execute sends a real request with the key that you enter. On a Mac, a message goes out at once.',
};

const toggle = element('try') as HTMLInputElement;
let target: Target = 'unknown';

function say(): void {
  const isOn = toggle.checked;
  element('trying').dataset.state = isOn ? target : 'off';
  element('trying-text').textContent = (isOn ? ON : OFF)[target];
}

toggle.addEventListener('change', () => {
  say();
  draw(toggle.checked);
});
// A browser may keep the state of a check box when the page is loaded again.
toggle.checked = false;
say();
draw(false);
if (keptKey() !== '') {
  call<StatusReport>('status').then(
    ({ demo }) => {
      target = demo === true ? 'demo' : 'live';
      say();
    },
    () => {},
  );
}
