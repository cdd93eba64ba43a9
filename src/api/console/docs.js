// The reference page: Swagger UI over this service's own document. Requests nothing from elsewhere.

import { keptKey } from '../console/kept-key.js';
import { foldedOperation } from './docs-operation.js';

// Its dark colours hang on a class.
const darkness = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', darkness.matches);
darkness.addEventListener('change', follow);
follow();

const reference = /** @type {any} */ (globalThis).SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  plugins: [foldedOperation],
  tryItOutEnabled: true,
  persistAuthorization: false,
  onComplete() {
    if (keptKey() !== '') reference.preauthorizeApiKey('key', keptKey());
  },
  // Its badge would be loaded from another host.
  validatorUrl: null,
});
