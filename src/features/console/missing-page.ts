import { hash } from 'node:crypto';
import { acceptedRanges } from '../../core/http/accepted-ranges.ts';
import type { Answer } from '../../core/http/answer.ts';
import { vary } from '../../core/http/conditions.ts';
import type { Exchange } from '../../core/http/exchange.ts';
import type { EventCaller } from '../../core/model/caller.ts';

/** The product's look, in the page itself. */
const STYLE = `
:root { color-scheme: light dark; }
body {
  max-width: 34rem; margin: 0 auto; padding: 18vh 1.25rem 3rem;
  background: light-dark(#f7f6f3, #0f1114); color: light-dark(#1b1d20, #eceae5);
  font: 1rem/1.5 -apple-system, BlinkMacSystemFont, "SF Pro Text", Inter, "Segoe UI", Roboto, "Noto Sans", system-ui, sans-serif;
}
h1 { font-size: 1.75rem; line-height: 1.25; letter-spacing: -0.015em; margin: 0 0 0.5rem; }
p { margin: 0; color: light-dark(#62666d, #9a9fa8); }
ul { list-style: none; margin: 1.5rem 0 0; padding: 0; }
a {
  display: block; margin: 0.5rem 0; padding: 0.75rem 1rem; border-radius: 12px; text-decoration: none;
  background: light-dark(#ffffff, #16181c); border: 1px solid light-dark(#e8e5de, #262a30);
  color: light-dark(#0b5cad, #8bbdf6);
}
a:hover { border-color: currentcolor; }
a:focus-visible { outline: 2px solid currentcolor; outline-offset: 2px; }
`;
const POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Reports whether the client is a browser that shows the answer to a person. */
export function isForPerson(exchange: Exchange<EventCaller>): boolean {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return false;
  const ranges = acceptedRanges(exchange.header('accept') ?? '');
  return ranges.some(({ range, isAccepted }) => range === 'text/html' && isAccepted);
}

/** Returns the 404 page for browsers. The page does not quote the requested path. */
export function missingPage(exchange: Exchange<EventCaller>): Answer {
  // The links begin with `up`. They are relative, so that they also work behind a proxy that adds a folder to the path.
  const up = '../'.repeat(Math.max(0, exchange.path.split('/').length - 2)) || './';
  const links = [
    ['console', 'The console'],
    ['docs', 'The API reference'],
    ['guide/', 'The guide'],
  ].map(([path, text]) => `<li><a href="${up}${path}">${text}</a></li>`);
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>No such page – Postern</title>
<style>${STYLE}</style>
</head>
<body>
<h1>There is no such page.</h1>
<p>Postern is running, but has no page at this address. Try:</p>
<ul>
${links.join('\n')}
</ul>
</body>
</html>
`;
  return {
    status: 404,
    content: { type: 'text/html; charset=utf-8', text },
    headers: {
      'Content-Security-Policy': POLICY,
      'Referrer-Policy': 'no-referrer',
      Vary: vary(exchange, 'Accept'),
    },
  };
}
