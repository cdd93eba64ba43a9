// Which service the page shows: the one that serves the page, or a Mac behind it, which the page's address names.

const PART = /^[a-z0-9-]{1,40}$/;

function asked(name: string): string | undefined {
  const value = new URLSearchParams(globalThis.location?.search).get(name) ?? '';
  return PART.test(value) ? value : undefined;
}

const mac = asked('mac');
const machine = asked('machine');

/** The name of the Mac behind the service; undefined if the page shows the service itself. */
export const placeName = mac === undefined || machine === undefined ? mac : `${mac} (${machine})`;

/** The path of its service, relative to the page; empty for the service itself. */
export const placePath = mac === undefined ? '' : machine === undefined ? `macs/${mac}/` : `macs/${mac}/at/${machine}/`;

/** The console of the service itself. */
export const WAY_BACK = 'console';

/** Returns the address of the console of a Mac, or of one of its machines, behind the service. */
export const consoleOf = (id: string, hash = '', one?: string): string =>
  `console?mac=${encodeURIComponent(id)}${one === undefined ? '' : `&machine=${encodeURIComponent(one)}`}${hash}`;

/** Returns what tells an id from that of another Mac, if the service has several. */
export const idOn = (id: string, mac?: string): string => (mac === undefined ? id : `${mac} ${id}`);

/** Returns the Mac that an event or a conversation names; undefined if it names none. */
export const macOf = (one: object): string | undefined =>
  'mac' in one && typeof one.mac === 'string' ? one.mac : undefined;
