// Loaded before the program by tests of `make install`: makes dist/main.js, and no other program, believe that this is
// a Mac. The programs of that Mac are the stand-ins beside this file.
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { onThisMac } from './on-this-mac.mjs';

if (/\/dist\/main\.js$/.test(process.argv[1] ?? '')) {
  const { spawn } = childProcess;
  childProcess.spawn = (command, ...rest) => spawn(onThisMac(command), ...rest);
  syncBuiltinESMExports();
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  Object.defineProperty(process, 'arch', { value: 'arm64' });
  process.getuid = () => 501;
  process.execPath = `${process.env.MAC_STAND_IN}/own-node`;
}
