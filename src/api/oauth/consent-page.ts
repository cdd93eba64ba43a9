import { createHash } from 'node:crypto';
import { visible } from '../../domain/visible.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem;color:#1c1c1e}
label{display:block;margin:1rem 0 .25rem;font-weight:600}input,textarea,select{width:100%;font:inherit;padding:.5rem;box-sizing:border-box}
button{font:inherit;padding:.6rem 1.2rem;margin:1.5rem .5rem 0 0}[role=alert]{color:#b00020}code{word-break:break-all}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The presets that the page offers. */
export const CONSENT_PRESETS = ['reader', 'assistant'] as const;

interface Consent {
  readonly id: string;
  readonly clientName: string;
  readonly clientId: string;
  readonly redirectUri: string;
}

/** The owner's entries so far, without the key. */
interface Entered {
  readonly people: string;
  readonly preset: string;
  readonly mistakes: readonly string[];
}

/** The page on which the owner decides what a program may do: his key, people, and a preset. */
export function consentPage({ id, clientName, clientId, redirectUri }: Consent, entered: Entered): string {
  const { people, preset, mistakes } = entered;
  const option = (value: string, text: string): string =>
    `<option value="${value}"${value === preset ? ' selected' : ''}>${text}</option>`;
  const alerts = mistakes.map((mistake) => `<p role="alert">${shown(mistake)}</p>`).join('');
  return page(
    'Allow a program to use Messages',
    `<p><strong>${shown(clientName)}</strong> asks to use Messages on this Mac. That is the name it gave itself; it is
<code>${shown(clientId)}</code>, and the answer goes to ${receiverOf(redirectUri)}.</p>${alerts}
<form method="post" action="/oauth/authorize" autocomplete="off"><input type="hidden" name="consent" value="${id}">
<label for="key">Your key (api_key of config.toml)</label>
<input id="key" name="key" type="password" autocomplete="off">
<label for="people">People and groups, one a line</label>
<textarea id="people" name="people" rows="4" placeholder="+15550100">${escaped(people)}</textarea>
<label for="preset">It may</label>
<select id="preset" name="preset">${option('reader', 'read')}${option('assistant', 'read, and write what you approve')}</select>
<button name="decision" value="allow">Allow for 90 days</button><button name="decision" value="deny">Refuse</button>
</form>`,
  );
}

/** A page that says why nothing can be allowed. Never a redirect: the address may be a stranger's. */
export function refusalPage(sentence: string): string {
  return page('This cannot be allowed', `<p role="alert">${shown(sentence)}</p>`);
}

/** The policy of a page. A browser also applies `form-action` to the redirect that answers the form. */
export function pagePolicy(redirectUri?: string): string {
  const { protocol = '', origin = 'null' } = redirectUri === undefined ? {} : new URL(redirectUri);
  const target = origin === 'null' ? protocol : origin;
  return `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self' ${target}; frame-ancestors 'none'; base-uri 'none'`;
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} – Postern</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1>${body}</main></body></html>`;
}

/** Names a host only for https, where its owner is known: behind another scheme any host may be written. */
function receiverOf(uri: string): string {
  const { host, protocol } = new URL(uri);
  if (protocol === 'https:') return `<code>${shown(host)}</code>`;
  const place = protocol === 'http:' ? `http://${host}` : protocol;
  return `a program on the computer you are sitting at (<code>${shown(place)}</code>)`;
}

/** Writes out invisible characters too: they could turn the text around. */
function shown(text: string): string {
  return escaped(visible(text));
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
