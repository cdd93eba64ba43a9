import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { check, property, uint8Array } from 'fast-check';
import { machSlices, machSlicesOf, replaceUuids } from '../../installer/mach-o.ts';
import { fatFile, machFile, OFFICIAL_UUID, X64 } from '../support/mach-o.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const of = (bytes: Uint8Array) =>
  machSlices((offset, length) => Buffer.from(bytes.subarray(Math.min(offset, bytes.length), offset + length)));
const UUID = 'A3D55146-7095-37E8-81FA-BDA56A6B52D1';
const SYSTEM = '/usr/lib/libSystem.B.dylib';

describe('the load commands of a program', () => {
  test('name its architecture, libraries and lowest macOS', () => {
    const file = join(folder, 'program');
    writeFileSync(
      file,
      machFile({ libraries: [SYSTEM, '@rpath/libnode.141.dylib'], minimumMacos: (13 << 16) | (5 << 8) }),
    );
    expect(machSlicesOf(file)).toMatchObject([
      { arch: 'arm64', libraries: [SYSTEM, '@rpath/libnode.141.dylib'], minimumMacos: '13.5', uuid: UUID },
    ]);
  });

  test('are read from big-endian and universal files too', () => {
    expect(of(machFile({ bigEndian: true, cpu: X64 }))).toMatchObject([
      { arch: 'x64', libraries: [SYSTEM], minimumMacos: null, uuid: UUID },
    ]);
    expect(of(fatFile(machFile(), machFile({ cpu: X64 }))).map(({ arch }) => arch)).toEqual(['arm64', 'x64']);
  });

  test.each([
    ['an ELF program', Buffer.from('\x7fELF\x02\x01\x01')],
    ['a script', Buffer.from('#!/bin/sh\nexit 0\n')],
    ['nothing', Buffer.alloc(0)],
    ['a Java class', Buffer.from('cafebabe00000041', 'hex')],
  ])('there are none in %s', (_name, bytes) => {
    expect(of(bytes)).toEqual([]);
  });

  test('no cut or altered file makes it throw or run away', () => {
    const whole = fatFile(machFile({ libraries: ['/a', '/b', SYSTEM], minimumMacos: 1 }), machFile({ cpu: X64 }));
    for (let length = 0; length < 4400; length += 1) expect(() => of(whole.subarray(0, length))).not.toThrow();
    const head = machFile();
    const result = check(
      property(uint8Array({ minLength: 1, maxLength: 200 }), (noise) => {
        const altered = Buffer.from(head);
        noise.forEach((byte, index) => {
          if (index + 4 < altered.length) altered[index + 4] = byte;
        });
        of(altered);
      }),
    );
    expect(result.failed).toBe(false);
  });

  test('give each architecture its own UUID, and change no other byte', () => {
    const file = join(folder, 'universal');
    const before = fatFile(machFile(), machFile({ cpu: X64, bigEndian: true }));
    writeFileSync(file, before);
    replaceUuids(file, ({ arch }) => Buffer.alloc(16, arch === 'arm64' ? 0xaa : 0xbb));
    expect(machSlicesOf(file).map(({ arch, uuid }) => [arch, uuid])).toEqual([
      ['arm64', 'AAAAAAAA-AAAA-AAAA-AAAA-AAAAAAAAAAAA'],
      ['x64', 'BBBBBBBB-BBBB-BBBB-BBBB-BBBBBBBBBBBB'],
    ]);
    replaceUuids(file, () => OFFICIAL_UUID);
    expect(readFileSync(file)).toEqual(before);
  });

  test('without a UUID are left alone', () => {
    const file = join(folder, 'nameless');
    writeFileSync(file, machFile({ uuid: null }));
    replaceUuids(file, () => OFFICIAL_UUID);
    expect(readFileSync(file)).toEqual(machFile({ uuid: null }));
    expect(machSlicesOf(file)).toMatchObject([{ uuid: null, uuidOffset: null }]);
  });
});
