import type { ServerResponse } from 'node:http';

type Answer = (response: ServerResponse) => void;

/** Small, so that this process spends little time on data that nobody reads. */
const PIECE = Buffer.alloc(16 * 1024, 'postern ');
const GIGABYTE = 1024 ** 3;

/** Returns an answer of 200 that comes after `ms`, if the client is still connected. */
function after(ms: number): Answer {
  return (response) => {
    const timer = setTimeout(() => response.writeHead(200).end(), ms);
    response.on('close', () => clearTimeout(timer));
  };
}

/** Answers 200 with a body of a gigabyte, as long as it is read. */
function gigabyte(response: ServerResponse): void {
  response.on('error', () => response.destroy());
  response.writeHead(200);
  let left = GIGABYTE / PIECE.length;
  const pour = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      if (!response.write(PIECE)) {
        response.once('drain', pour);
        return;
      }
    }
    response.end();
  };
  pour();
}

/** Ways in which a webhook's receiver can misbehave. */
export const MISBEHAVIOURS = {
  'answers 500': (response) => void response.writeHead(500).end(),
  hangs: () => undefined,
  resets: (response) => void response.socket?.resetAndDestroy(),
  redirects: (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  'answers 200 after 9.9 s': after(9900),
  'answers 200 after 11 s': after(11_000),
  'sends a gigabyte': gigabyte,
} as const satisfies Readonly<Record<string, Answer>>;
