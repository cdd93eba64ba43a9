import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { MESSAGES_TERMS, NEEDED_TERMS, STANDARD_TERMS } from '../../src/features/doctor/cli/scripting-terms.ts';
import { applescriptMistakes, messagesWords } from '../support/applescript.ts';

const scripts = ['src', 'installer']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
  .filter((path) => path.endsWith('.applescript'));

const terms = [...Object.values(MESSAGES_TERMS).flat(), ...Object.values(STANDARD_TERMS).flat()];
const check = (text: string): readonly string[] => applescriptMistakes(text, terms);

describe('the check of AppleScript files, which nothing outside macOS compiles', () => {
  test.each<readonly [string, string, ...string[]]>([
    ['an open block', 'try\n\tbeep', 'line 1: try has no end'],
    ['the wrong end', 'on run\n\ttry\n\tend run', 'line 3: end run closes try of line 2', 'line 1: run has no end'],
    ['an end too many', 'end tell', 'line 1: end tell closes nothing'],
    ['an else outside an if', 'try\n\telse\nend try', 'line 2: else is not in an if'],
    ['a handler that is not there', 'on run\n\tmy sendIt(1)\nend run', 'line 2: there is no handler sendIt'],
    ['a handler called without my', 'on go()\nend go\non run\n\tgo()\nend run', 'line 4: go() is called without my'],
    [
      'a word that Messages does not know',
      'tell application id "com.apple.MobileSMS" to send theText to buddy theName',
      'line 1: Messages knows no buddy',
    ],
    [
      'a word in a longer tell',
      'tell application id "com.apple.MobileSMS"\n\tget status of every account\nend tell',
      'line 2: Messages knows no status',
    ],
    ['a string built from data', 'set theScript to "send " & theText', 'line 1: & builds a string'],
    ['a shell', 'do shell script "id"', 'line 1: do shell script is not allowed'],
    ['a string without an end', 'set x to "abc', 'line 1: the string has no end'],
  ])('finds %s', (_name, text, ...mistakes) => {
    expect(check(text)).toEqual(mistakes);
  });

  test('finds nothing in a script that is right', () => {
    const text = [
      'on run -- "not a string',
      '\tset theIds to {} (* tell me "no" *)',
      '\tif theIds is {} then return',
      '\tif theIds is {1} then',
      '\t\tmy go(theIds, "end \\" tell")',
      '\telse if 1 is 2 then',
      '\t\trepeat with anId in theIds',
      '\t\tend repeat',
      '\telse',
      '\t\ttell application id "com.apple.MobileSMS" to get id of every chat',
      '\tend if',
      'end run',
      'on go(theIds, theWord)',
      '\twith timeout of 5 seconds',
      '\t\ttell application id "com.apple.MobileSMS"',
      '\t\t\tset theAccount to 1st account whose enabled is true and service type = SMS',
      '\t\tend tell',
      '\tend timeout',
      'end go',
    ].join('\n');
    expect(check(text)).toEqual([]);
  });
});

describe.each(scripts)('%s', (path) => {
  const text = readFileSync(path, 'utf8');

  test('has balanced blocks, calls handlers that exist and uses words that Messages knows', () => {
    expect(check(text)).toEqual([]);
  });

  test('is plain ASCII and takes data from nowhere but the environment', () => {
    expect(text).toMatch(/^[\t\n -~]*$/);
    expect(text).not.toMatch(/do shell script|run script|load script|system attribute "|\bargv\b/);
  });
});

test('the words that are asked of a dictionary are those the scripts use', () => {
  const used = new Set(scripts.flatMap((path) => messagesWords(readFileSync(path, 'utf8'), terms)));
  const standard = new Set<string>(Object.values(STANDARD_TERMS).flat());
  const services = new Set<string>(MESSAGES_TERMS.services);
  const needed = [...new Set(Object.values(NEEDED_TERMS).flat())].sort();
  expect([...used].filter((word) => !standard.has(word) && !services.has(word)).sort()).toEqual(needed);
});
