/** Replaces all text that is not known to be harmless. */
const MASK = '…';
const MAX_CHARACTERS = 600;
const MAX_DIGITS = 5;

/**
 * Words that macOS programs themselves print: messages of errno, launchctl, codesign, osacompile and AppleScript, and
 * folder names that every Mac has. None is a person's name, an address or a key.
 */
const WORDS = new Set(
  `a aborted access account action active after again agent already an and any app apple applescript application
  applications apps argument arguments arm64 at automation available background bad badly be because boot bootout
  bootstrap bundle but by can cannot cdhash chat class code com command compile conflict connection contents could
  count current denied designated detritus dialog dictionary directory disabled disk does domain else enabled end
  error etc event events ex executable execution exist exists exit expected expression failed failure file find
  finder for fork format found from gatekeeper got gui hardened has have home id identifier if in inferred info
  information input integrity interactive internal interrupted into invalid io is it item its job keepalive key
  kickstart kill killed launch launchagents launchctl launchd library line list loaded local log login long mach
  macos main make messages missing mobilesms mode modified more name no node none not now null number object of ok
  on only open operation or osacompile osascript osstatus other out output ownership path pending permission
  permissions permitted plist port postern print privilege process program progress prohibited property protection
  quarantine quarantined read reason refused removed request requested required requires resign resource resources
  respond response runatload running runtime sandbox scheduled script seal sealed seconds security see send sent
  service session set signal signature signed similar sip so spawn specified speculative standard state status
  string such support supported switch syntax system target tell temporary terminated than that the then there this
  time timed timeout to token too try type unable unexpected unknown unrecognized unsupported use user users valid
  variable version waiting was when while window with without word words write written wrong x86_64 xattr xpc you
  your`.split(/\s+/),
);

/**
 * Masks everything in another program's text except known words, punctuation and short numbers, so that no name,
 * contact or address can remain, in any language.
 */
export function knownWords(text: string): string {
  return text
    .slice(0, MAX_CHARACTERS)
    .replace(/(?<!\S)\S*@\S*/g, MASK) // an address may consist of known words
    .replace(/\+?\(?\d(?:[^\p{L}]{0,3}\d){5,}/gu, MASK) // a telephone number, in any grouping
    .replace(/[\p{L}\p{N}\p{M}_]+/gu, (word) => (isHarmless(word) ? word : MASK))
    .replace(/[^\x20-\x7e\n…]+/g, MASK)
    .replace(/…[…\s.@+'"-]*…/g, MASK)
    .trim();
}

function isHarmless(word: string): boolean {
  if (/^\d+$/.test(word)) return word.length <= MAX_DIGITS;
  return WORDS.has(word.toLowerCase());
}

/**
 * Parses lines of `key: value` or `key=value`. Returns the first value of each wanted key, masked if it does not have
 * the expected form.
 */
export function fields(text: string, wanted: Readonly<Record<string, RegExp>>): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const at = line.search(/[=:]/);
    if (at === -1) continue;
    const key = line.slice(0, at).trim();
    const value = line.slice(at + 1).trim();
    const form = Object.hasOwn(wanted, key) ? wanted[key] : undefined;
    if (form !== undefined && found[key] === undefined) found[key] = matches(form, value) ? value : MASK;
  }
  return found;
}

/** Returns the text if it is one of the values, or null. */
export function oneOf<Value extends string>(values: readonly Value[], text: string | undefined): Value | null {
  return values.find((value) => value === text) ?? null;
}

function matches(form: RegExp, value: string): boolean {
  return new RegExp(`^(?:${form.source})$`, form.flags).test(value);
}
