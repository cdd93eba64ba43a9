import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export interface Import {
  readonly file: string;
  readonly line: number;
  readonly target: string;
}

export function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('node_modules'));
}

export function imports(file: string): Import[] {
  return readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((text, index) => {
      const found = /(?:from |import |import\()\s*['"]([^'"]+)['"]/.exec(text);
      return found?.[1] === undefined ? [] : [{ file, line: index + 1, target: found[1] }];
    });
}

/** Returns the room of a file: a folder of src/core/, `core` for a file beside them, `features`, `client`, a root. */
export function roomOf(file: string): string {
  const [top, second = '', third = ''] = file.split('/');
  if (top !== 'src') return top ?? '';
  return second === 'core' && !third.includes('.') ? third : second.replace(/\.ts$/, '');
}

/** Returns who uses a package in this file: its room, the feature, and the room of the feature. */
export function usersIn(file: string): readonly string[] {
  const parts = dirname(file).split('/').slice(1);
  return [roomOf(file), parts.slice(0, 2).join('/'), parts.slice(0, 3).join('/')];
}

/** Reports whether a file runs in a browser, where the clock, names and URLs mean something else. */
export const isOfBrowser = (file: string): boolean => /^src\/features\/console\/\w+\//.test(file);

export const pathOf = ({ file, target }: Import): string => relative(root, resolve(root, dirname(file), target));

export const everyImport = [...sources('src'), ...sources('installer')].flatMap(imports);

export const relativeImports = everyImport.filter(({ target }) => target.startsWith('.'));
