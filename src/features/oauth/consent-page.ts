import { createHash } from 'node:crypto';
import { parsedUrl } from '../../core/model/parsed-url.ts';
import { escapedHtml } from '../../core/model/text.ts';
import { visible } from '../../core/model/visible.ts';

/** The console's colours and form styles. They are part of the page, because the issuer's address serves no files. */
const STYLE = `:root{color-scheme:light dark;--page:light-dark(#f7f6f3,#0f1114);--card:light-dark(#fff,#16181c);
--sunk:light-dark(#f2f0eb,#1e2126);--text:light-dark(#1b1d20,#eceae5);--quiet:light-dark(#62666d,#9a9fa8);
--line:light-dark(#e8e5de,#262a30);--edge:light-dark(#d8d4ca,#343941);--field:light-dark(#8b8981,#727984);
--accent:light-dark(#0b5cad,#8bbdf6);--accent-soft:light-dark(#e7f0fa,#14263a);--on-accent:light-dark(#fff,
#0b1f35);--bad:light-dark(#b3261e,#ff9d94);--bad-soft:light-dark(#fdecea,#331715)}*{box-sizing:border-box}
body{margin:0;padding:24px 16px;background:var(--page);color:var(--text);font:14px/20px -apple-system,system-ui,
"Segoe UI",sans-serif;overflow-wrap:anywhere}main{max-width:480px;margin:0 auto;display:grid;gap:16px}
h1{margin:0;font-size:20px;line-height:28px;letter-spacing:-.015em}p{margin:0}form{display:grid;gap:16px;
padding:16px;background:var(--card);border:1px solid var(--line);border-radius:12px}.field{display:grid;gap:6px}
.field label,legend{font-weight:500;padding:0}.hint,small{color:var(--quiet);font-size:13px;line-height:18px}
.input{width:100%;font:inherit;font-size:max(16px,1em);color:inherit;padding:7px 10px;
border:1px solid var(--field);border-radius:8px;background:var(--card)}fieldset{display:grid;gap:8px;margin:0;
padding:0;border:0}legend{margin-bottom:8px}.option{display:grid;grid-template-columns:20px 1fr;gap:2px 10px;
padding:12px;border:1px solid var(--edge);border-radius:8px}.option input{accent-color:var(--accent);width:16px;
height:16px;margin:2px 0 0}.option small{grid-column:2}.option:has(:checked){border-color:var(--accent);
background:var(--accent-soft)}.acts{display:flex;flex-wrap:wrap;gap:8px}.btn{font:inherit;font-weight:500;
min-height:40px;padding:5px 14px;border:1px solid var(--edge);border-radius:8px;background:var(--card);
color:inherit}.first{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
[role=alert]{padding:10px 12px;border-radius:8px;background:var(--bad-soft);color:var(--bad)}
code{font:13px ui-monospace,Menlo,monospace}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}`;
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

/** Returns the consent page, where the owner chooses a preset and people for a program, and enters the owner's key. */
export function consentPage({ id, clientName, clientId, redirectUri }: Consent, entered: Entered): string {
  const { people, preset, mistakes } = entered;
  const option = (value: string, title: string, text: string): string =>
    `<label class="option"><input type="radio" name="preset" value="${value}"${value === preset ? ' checked' : ''}>
<b>${title}</b><small>${text}</small></label>`;
  const alerts = mistakes.map((mistake) => `<p role="alert">${shown(mistake)}</p>`).join('');
  return page(
    'Allow a program to use Messages',
    `<p><strong>${shown(clientName)}</strong> asks to use Messages on this Mac. That is the name it gave itself. Its id is
<code>${shown(clientId)}</code>, and the answer goes to ${receiverOf(redirectUri)}.</p>${alerts}
<form method="post" action="/oauth/authorize" autocomplete="off"><input type="hidden" name="consent" value="${id}">
<fieldset><legend>What is it for?</legend>${option('reader', 'A reader', 'It reads what you allow. It never sends.')}
${option('assistant', 'An assistant', 'It reads and writes where you allow it; every send waits for you.')}
</fieldset>
<div class="field"><label for="people">Whose conversations?</label>
<textarea class="input" id="people" name="people" rows="3" placeholder="+15550100"
 aria-describedby="people-hint">${escapedHtml(people)}</textarea>
<span class="hint" id="people-hint">A number, address or group on each line, or * for everybody. The program sees nobody
else.</span></div>
<div class="field"><label for="key">Your key</label>
<input class="input" id="key" name="key" type="password" autocomplete="off" aria-describedby="key-hint">
<span class="hint" id="key-hint">From <code>postern config key</code>. The program gets its own, limited key.</span></div>
<div class="acts"><button class="btn first" name="decision" value="allow">Allow for 90 days</button>
<button class="btn" name="decision" value="deny">Refuse</button></div>
</form>`,
  );
}

/**
 * Returns a page that says why access is refused. It is shown instead of a redirect, because the redirect address may
 * be a stranger's.
 */
export function refusalPage(sentence: string): string {
  return page('This cannot be allowed', `<p role="alert">${shown(sentence)}</p>`);
}

/** Returns the page after the owner has refused a program that has no web address to go back to. */
export function deniedPage(): string {
  return page('You refused', '<p>The program got no access. You can close this page.</p>');
}

/**
 * Returns the Content-Security-Policy. Its `form-action` includes the redirect address, because browsers also apply
 * `form-action` to the redirect that follows the form's submission.
 */
export function pagePolicy(redirectUri?: string): string {
  const { protocol = '', origin = 'null' } = (redirectUri !== undefined && parsedUrl(redirectUri)) || {};
  const target = origin === 'null' ? protocol : origin;
  return `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self' ${target}; frame-ancestors 'none'; base-uri 'none'`;
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} – Postern</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1>${body}</main></body></html>`;
}

/**
 * Names the program or site that receives the code at a redirect address, for the owner to read. For https, the host is
 * the receiver. For any other scheme, the host proves nothing, and the receiver is a program on the user's computer.
 */
function receiverOf(uri: string): string {
  const { host = '', protocol = '' } = parsedUrl(uri) ?? {};
  if (protocol === 'https:') return `<code>${shown(host)}</code>`;
  const destination = protocol === 'http:' ? `http://${host}` : protocol;
  return `a program on the computer you are sitting at (<code>${shown(destination)}</code>)`;
}

/** Escapes text for the page. Also writes out invisible characters, because they could reverse the text around them. */
function shown(text: string): string {
  return escapedHtml(visible(text));
}
