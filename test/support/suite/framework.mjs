// Runs a test file with Jest's own framework, but with Node's module loader in place of Jest's, which would load all of
// src/ anew for each file, into a context where every access to a global is slow.
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
import circus from 'jest-circus/runner';
import { compiledPath } from './modules.mjs';

const require = createRequire(import.meta.url);
/** Where Jest's framework keeps what it calls at each event. A file must not call what the files before it left there. */
const HANDLERS = Symbol.for('EVENT_HANDLERS');
let files = 0;

register('./loader.mjs', import.meta.url);

export default function run(globalConfig, config, environment, runtime, path, send) {
  files += 1;
  const file = files;
  runtime.getSourceMaps().get = (url) => {
    const compiled = compiledPath(url);
    return compiled && `${compiled}.map`;
  };
  const loader = Object.assign(Object.create(runtime), {
    requireInternalModule(module) {
      globalThis[HANDLERS] = undefined;
      delete require.cache[module];
      return require(module);
    },
    requireModule: require,
    setGlobalsForRuntime(globals) {
      globalThis.jestGlobals = globals;
    },
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (module) => import(`${pathToFileURL(module)}?${file}`),
  });
  return circus.default(globalConfig, config, environment, loader, path, send);
}
