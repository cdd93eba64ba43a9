import type { Answer } from './answer.ts';
import { vary } from './conditions.ts';
import type { Exchange } from './exchange.ts';

const POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Reports whether the client is a browser that shows the answer to a person. */
export function isForPerson(exchange: Exchange): boolean {
  return (
    (exchange.method === 'GET' || exchange.method === 'HEAD') && /\btext\/html\b/i.test(exchange.header('accept') ?? '')
  );
}

/** Returns the 404 page for browsers. The page does not quote the requested path. */
export function missingPage(exchange: Exchange): Answer {
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
