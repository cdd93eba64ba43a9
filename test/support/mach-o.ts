/** Options of a Mach-O file. */
export interface MachOptions {
  readonly cpu?: number;
  readonly libraries?: readonly string[];
  /** The lowest macOS in `LC_BUILD_VERSION`, packed; omitted if undefined. */
  readonly minimumMacos?: number;
  readonly bigEndian?: boolean;
  /** `LC_UUID`; null omits it. */
  readonly uuid?: Buffer | null;
}

/** The UUID of every official Node 22.23.2 for arm64. */
export const OFFICIAL_UUID = Buffer.from('a3d55146709537e881fabda56a6b52d1', 'hex');

export const ARM64 = 0x0100000c;
export const X64 = 0x01000007;

/** Returns a 64-bit Mach-O executable, as far as its load commands go. */
export function machFile(options: MachOptions = {}): Buffer {
  const number = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    if (options.bigEndian === true) bytes.writeUInt32BE(value);
    else bytes.writeUInt32LE(value);
    return bytes;
  };
  const numbers = (...values: number[]): Buffer => Buffer.concat(values.map(number));
  const commands: Buffer[] = (options.libraries ?? ['/usr/lib/libSystem.B.dylib']).map((library) => {
    const name = Buffer.from(`${library}\0`, 'utf8');
    const padded = Buffer.concat([name, Buffer.alloc((8 - (name.length % 8)) % 8)]);
    return Buffer.concat([numbers(0xc, 24 + padded.length, 24, 0, 0, 0), padded]);
  });
  if (options.minimumMacos !== undefined) commands.push(numbers(0x32, 24, 1, options.minimumMacos, 0, 0));
  const { uuid = OFFICIAL_UUID } = options;
  if (uuid !== null) commands.push(Buffer.concat([numbers(0x1b, 24), uuid]));
  const bytes = commands.reduce((sum, command) => sum + command.length, 0);
  const header = numbers(0xfeedfacf, options.cpu ?? ARM64, 0, 2, commands.length, bytes, 0, 0);
  return Buffer.concat([header, ...commands, Buffer.alloc(64)]);
}

/** Returns a universal file that contains these. */
export function fatFile(...slices: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(8 + slices.length * 20);
  head.writeUInt32BE(0xcafebabe, 0);
  head.writeUInt32BE(slices.length, 4);
  let offset = 4096;
  const parts: Buffer[] = [];
  slices.forEach((slice, index) => {
    head.writeUInt32BE(ARM64, 8 + index * 20);
    head.writeUInt32BE(offset, 16 + index * 20);
    head.writeUInt32BE(slice.length, 20 + index * 20);
    const padded = Buffer.concat([slice, Buffer.alloc(4096 - (slice.length % 4096))]);
    parts.push(padded);
    offset += padded.length;
  });
  return Buffer.concat([head, Buffer.alloc(4096 - head.length), ...parts]);
}
