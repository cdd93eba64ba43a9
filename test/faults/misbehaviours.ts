import type { ServerResponse } from 'node:http';

type Answer = (response: ServerResponse) => void;

const MIB = Buffer.alloc(1024 * 1024, 'postern ');

/** Answers 200 so long after the request, if anybody is still there to hear it. */
function after(ms: number): Answer {
  return (response) => {
    const timer = setTimeout(() => response.writeHead(200).end(), ms);
    response.on('close', () => clearTimeout(timer));
  };
}

/** A 200 with a body that goes on for a gigabyte, as long as it is read. */
function gigabyte(response: ServerResponse): void {
  response.on('error', () => response.destroy());
  response.writeHead(200);
  let left = 1024;
  const pour = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      if (!response.write(MIB)) {
        response.once('drain', pour);
        return;
      }
    }
    response.end();
  };
  pour();
}

/** What a webhook's receiver may do instead of answering. */
export const MISBEHAVIOURS = {
  'answers 500': (response) => void response.writeHead(500).end(),
  hangs: () => undefined,
  resets: (response) => void response.socket?.resetAndDestroy(),
  redirects: (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  'answers 200 after 9.9 s': after(9900),
  'answers 200 after 11 s': after(11_000),
  'sends a gigabyte': gigabyte,
} as const satisfies Readonly<Record<string, Answer>>;
