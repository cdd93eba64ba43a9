import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** One architecture of a macOS executable, as its load commands describe it. */
export interface MachSlice {
  readonly arch: 'arm64' | 'x64' | 'other';
  /** The libraries that the slice is linked to, as written: absolute, or beginning with @rpath or similar. */
  readonly libraries: readonly string[];
  /** The lowest macOS version that the slice supports, for example `11.0`; null if the slice declares none. */
  readonly minimumMacos: string | null;
  /**
   * The slice's UUID (LC_UUID), written as dwarfdump writes it; null if there is none. For Local Network privacy, macOS
   * identifies a program by this UUID.
   */
  readonly uuid: string | null;
  /** Offset of the UUID's 16 bytes in the file. */
  readonly uuidOffset: number | null;
}

/** Reads up to `length` bytes at `offset`; fewer at the end of the file. */
export type ReadBytes = (offset: number, length: number) => Buffer;

// Values from <mach-o/loader.h> and <mach-o/fat.h>.
const MAGIC_64 = 0xfeedfacf;
const FAT_MAGIC = 0xcafebabe;
const FAT_MAGIC_64 = 0xcafebabf;
const ARCHITECTURES: Readonly<Record<number, MachSlice['arch']>> = { 16777228: 'arm64', 16777223: 'x64' };
const LOAD_LIBRARY = new Set([0xc, 0x80000018, 0x8000001f, 0x20, 0x80000023]);
const UUID = 0x1b;
const UUID_BYTES = 16;
const VERSION_MIN_MACOSX = 0x24;
const BUILD_VERSION = 0x32;
const HEADER_BYTES = 32;

/** Maximum number of slices in a universal file. A file that claims more is damaged or is a Java class file. */
const SLICES_LIMIT = 16;
const COMMANDS_BYTES_LIMIT = 1 << 20;

/**
 * Returns the architectures of a 64-bit or universal Mach-O file, or none if it is damaged or something else. Never
 * throws. (`otool` would report the same, but without developer tools it opens a dialog.)
 */
export function machSlices(read: ReadBytes): readonly MachSlice[] {
  const start = read(0, 8);
  if (start.length < 8) return [];
  const magic = start.readUInt32BE(0);
  if (magic !== FAT_MAGIC && magic !== FAT_MAGIC_64) return present(slice(read, 0));

  const count = start.readUInt32BE(4);
  // Java class files begin with the same four bytes as universal binaries. In a universal binary, the number of slices
  // follows; in a Java class file, a version above 40.
  if (count > SLICES_LIMIT) return [];
  const isWide = magic === FAT_MAGIC_64;
  const entryBytes = isWide ? 32 : 20;
  const table = read(8, count * entryBytes);
  const slices: MachSlice[] = [];
  for (let at = 0; at + entryBytes <= table.length; at += entryBytes) {
    const offset = isWide ? Number(table.readBigUInt64BE(at + 8)) : table.readUInt32BE(at + 8);
    slices.push(...present(slice(read, offset)));
  }
  return slices;
}

/** Reads the architectures of a file on disk. Throws only if the file cannot be read. */
export function machSlicesOf(path: string): readonly MachSlice[] {
  const file = openSync(path, 'r');
  try {
    return machSlices((offset, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, Number.isSafeInteger(offset) ? readSync(file, bytes, 0, length, offset) : 0);
    });
  } finally {
    closeSync(file);
  }
}

/**
 * Sets each architecture's UUID to the 16 bytes that `uuidOf` returns. This breaks the signature, so sign afterwards.
 */
export function replaceUuids(path: string, uuidOf: (slice: MachSlice) => Uint8Array): void {
  const slices = machSlicesOf(path);
  const file = openSync(path, 'r+');
  try {
    for (const slice of slices) {
      if (slice.uuidOffset !== null) writeSync(file, uuidOf(slice), 0, UUID_BYTES, slice.uuidOffset);
    }
  } finally {
    closeSync(file);
  }
}

function slice(read: ReadBytes, offset: number): MachSlice | undefined {
  const header = read(offset, HEADER_BYTES);
  if (header.length < HEADER_BYTES) return undefined;
  const isLittle = header.readUInt32LE(0) === MAGIC_64;
  if (!isLittle && header.readUInt32BE(0) !== MAGIC_64) return undefined;
  const number = (bytes: Buffer, at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));

  const commandsBytes = number(header, 20);
  if (commandsBytes > COMMANDS_BYTES_LIMIT) return undefined;
  const commands = read(offset + HEADER_BYTES, commandsBytes);
  if (commands.length < commandsBytes) return undefined;

  const libraries: string[] = [];
  let minimumMacos: string | null = null;
  let uuidAt: number | null = null;
  let at = 0;
  for (let left = number(header, 16); left > 0; left -= 1) {
    if (at + 8 > commands.length) return undefined;
    const kind = number(commands, at);
    const size = number(commands, at + 4);
    if (size < 8 || at + size > commands.length) return undefined;
    const command = commands.subarray(at, at + size);
    if (LOAD_LIBRARY.has(kind) && size >= 12) libraries.push(text(command, number(command, 8)));
    if (kind === VERSION_MIN_MACOSX && size >= 12) minimumMacos = version(number(command, 8));
    if (kind === BUILD_VERSION && size >= 16) minimumMacos = version(number(command, 12));
    if (kind === UUID && size >= 8 + UUID_BYTES) uuidAt = at + 8;
    at += size;
  }
  return {
    arch: ARCHITECTURES[number(header, 4)] ?? 'other',
    libraries,
    minimumMacos,
    uuid: uuidAt === null ? null : uuidText(commands.subarray(uuidAt, uuidAt + UUID_BYTES)),
    uuidOffset: uuidAt === null ? null : offset + HEADER_BYTES + uuidAt,
  };
}

function text(command: Buffer, offset: number): string {
  const name = command.subarray(offset);
  const end = name.indexOf(0);
  return name.subarray(0, end === -1 ? name.length : end).toString('utf8');
}

function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex').toUpperCase();
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Formats a version that is packed as 0xMMMMmmpp. */
function version(packed: number): string {
  return `${packed >>> 16}.${(packed >>> 8) & 0xff}`;
}

function present<Value>(value: Value | undefined): readonly Value[] {
  return value === undefined ? [] : [value];
}
