// The reference page: Swagger UI over this service's own document. Makes no requests to other hosts.

import { keptKey } from '../service/kept-key.ts';
import { applyScheme, schemeNow } from '../service/preferences.ts';
import { foldedOperation } from './docs-operation.ts';

/** Swagger UI, which the page loads as a script. */
declare const SwaggerUIBundle: (options: object) => { preauthorizeApiKey(name: string, key: string): void };

applyScheme();
// Swagger UI uses its dark colours only if the page has the class `dark-mode`.
const darkness = matchMedia('(prefers-color-scheme: dark)');
const isDark = (): boolean => (schemeNow() === 'auto' ? darkness.matches : schemeNow() === 'dark');
const follow = (): boolean => document.documentElement.classList.toggle('dark-mode', isDark());
darkness.addEventListener('change', follow);
follow();

/** Lists the parts of the reference above it. */
function listParts(): void {
  const links = [...document.querySelectorAll<HTMLElement>('.opblock-tag')].map(({ id, dataset }) => {
    const link = document.createElement('a');
    link.href = `#${id}`;
    link.textContent = dataset.tag ?? '';
    return link;
  });
  document.getElementById('parts')?.replaceChildren(...links);
}

const reference = SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  plugins: [foldedOperation],
  tryItOutEnabled: true,
  persistAuthorization: false,
  onComplete() {
    listParts();
    if (keptKey() !== '') reference.preauthorizeApiKey('key', keptKey());
  },
  // Removes the validator's badge, which would be loaded from another host.
  validatorUrl: null,
});
