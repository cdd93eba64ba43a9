import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Message } from '../../src/core/model/message.ts';
import { testIf } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const folder = temporaryFolder();
const has = (tool: string): boolean => spawnSync(tool, ['-version']).error === undefined;
const withFfmpeg = testIf(has('ffmpeg'), 'needs ffmpeg');
const withHeif = testIf(has('ffmpeg') && has('heif-enc') && has('heif-convert'), 'needs ffmpeg and heif-convert');

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

/** Writes a message with this file and waits until the service lists it. */
async function received(name: string, content: Buffer): Promise<{ readonly url: string; readonly path: string }> {
  const { row } = await mac.command<{ row: number }>({
    do: 'receive',
    from: ANA,
    text: '',
    attachment: { name, bytes: content.length },
  });
  const url = `/messages/${row}`;
  const [path = ''] = await waitFor(async () => {
    const { attachments = [] } = ((await service.get(url)).json ?? {}) as Partial<Message>;
    return attachments.length > 0 && attachments;
  });
  writeFileSync(path, content);
  return { url, path };
}

function made(name: string, ...source: readonly string[]): Buffer {
  const path = join(folder, name);
  const { status, stderr } = spawnSync('ffmpeg', ['-nostdin', '-v', 'error', '-y', ...source, path]);
  if (status !== 0) throw new Error(String(stderr));
  return readFileSync(path);
}

const PICTURE = ['-f', 'lavfi', '-i', 'testsrc=size=640x480', '-frames:v', '1'];

async function bytesOf(path: string): Promise<{ readonly headers: Headers; readonly bytes: Buffer }> {
  const response = await fetch(service.url + path, { headers: { 'x-api-key': KEY } });
  expect(response.status).toBe(200);
  return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

function sizeOf(picture: Buffer): string {
  const path = join(folder, 'answer.jpg');
  writeFileSync(path, picture);
  const args = ['-v', 'error', '-show_entries', 'stream=codec_name,width,height', '-of', 'csv=p=0', path];
  return String(spawnSync('ffprobe', args).stdout).trim();
}

describe('an attachment that is converted', () => {
  withFfmpeg('is a smaller JPEG, once made then kept, with an ETag of its own', async () => {
    const { url } = await received('a photo.png', made('a.png', ...PICTURE));
    const { headers, bytes } = await bytesOf(`${url}/attachments/0?as=jpeg&max=320`);
    expect(sizeOf(bytes)).toBe('mjpeg,320,240');
    expect(headers.get('content-type')).toBe('image/jpeg');
    expect(headers.get('content-disposition')).toContain('a photo.jpg');
    const etag = headers.get('etag') ?? '';
    expect((await service.get(`${url}/attachments/0?as=jpeg&max=320`, { 'if-none-match': etag })).status).toBe(304);
    const cache = join(service.folder, '.cache/postern');
    expect(readdirSync(cache)).toHaveLength(1);
    expect((await bytesOf(`${url}/attachments/0?as=jpeg`)).headers.get('etag')).not.toBe(etag);
    expect(readdirSync(cache)).toHaveLength(2);
  });

  withFfmpeg('is a recording that every browser plays', async () => {
    const sound = made('a.caf', '-f', 'lavfi', '-i', 'sine=duration=1', '-c:a', 'pcm_s16le');
    const { url } = await received('Audio Message.caf', sound);
    const { headers, bytes } = await bytesOf(`${url}/attachments/0?as=m4a`);
    expect(headers.get('content-type')).toBe('audio/mp4');
    expect(bytes.subarray(4, 12).toString()).toBe('ftypM4A ');
  });

  withHeif('may be HEIC', async () => {
    made('b.png', ...PICTURE);
    spawnSync('heif-enc', [join(folder, 'b.png'), '-o', join(folder, 'b.heic')]);
    const { url } = await received('IMG_1.HEIC', readFileSync(join(folder, 'b.heic')));
    expect(sizeOf((await bytesOf(`${url}/attachments/0?as=jpeg&max=100`)).bytes)).toBe('mjpeg,100,75');
  });

  test('does not exist for a key that may not read the conversation, in the words for an unknown one', async () => {
    const { url } = await received('x.png', Buffer.from('\x89PNG\r\n', 'latin1'));
    const { key } = await limitedKey(service, { scopes: ['read'], read: ['+15550199'] });
    const answers = await Promise.all(
      [`${url}/attachments/0?as=jpeg`, `${url}/attachments/0`, '/messages/99999/attachments/0?as=jpeg'].map((path) =>
        service.get(path, { 'x-api-key': key }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  test('says where the file is', async () => {
    const { url, path } = await received('gone.png', Buffer.from('x'));
    const state = async () => {
      const { details } = (await service.get(`${url}?include=details`)).json as Message;
      return details?.attachments.map((attachment) => attachment.state);
    };
    expect(await state()).toEqual(['available']);
    rmSync(path);
    expect(await state()).toEqual(['missing']);
    expect((await service.get(`${url}/attachments/0?as=jpeg`)).status).toBe(404);
  });
});
