// Runs a test file with Jest's own framework, but with Node's module loader in place of Jest's, which would load all of
// src/ anew for each file, into a context where every access to a global is slow.
import asyncHooks from 'node:async_hooks';
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { compiledPath } from './modules.mjs';

const require = createRequire(import.meta.url);
const { default: circus } = require('jest-circus/runner');
/** Where Jest's framework keeps what it calls at each event. A file must not call what the files before it left there. */
const HANDLERS = Symbol.for('EVENT_HANDLERS');
let files = 0;

register('./loader.mjs', import.meta.url);

export default function run(globalConfig, config, environment, runtime, path, send) {
  files += 1;
  const file = files;
  // Jest sets 100. Each `expect` captures a stack.
  Error.stackTraceLimit = 20;
  runtime.getSourceMaps().get = (url) => {
    const compiled = compiledPath(url);
    return compiled && `${compiled}.map`;
  };
  const loader = Object.assign(Object.create(runtime), {
    requireInternalModule(module) {
      globalThis[HANDLERS] = undefined;
      delete require.cache[module];
      return withRunningTest(() => require(module));
    },
    requireModule: require,
    setGlobalsForRuntime(globals) {
      globalThis.jestGlobals = globals;
    },
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (module) => import(`${pathToFileURL(module)}?${file}`),
  });
  return circus(globalConfig, config, environment, loader, path, send);
}

/**
 * Remembers the test or hook that runs, for errors that nobody catches. Tests run one after the other, so it need not be
 * found by the asynchronous calls, which Node would then note for every promise: a tenth of all the time.
 */
class RunningTest {
  #running;

  getStore() {
    return this.#running;
  }

  run(next, work) {
    const before = this.#running;
    this.#running = next;
    const end = () => {
      this.#running = before;
    };
    const result = work();
    if (typeof result?.then === 'function') result.then(end, end);
    else end();
    return result;
  }
}

/** Loads Jest's framework with that class in place of Node's. */
function withRunningTest(load) {
  const original = Object.getOwnPropertyDescriptor(asyncHooks, 'AsyncLocalStorage');
  // A getter without a setter since Node 22.
  Object.defineProperty(asyncHooks, 'AsyncLocalStorage', { configurable: true, value: RunningTest });
  try {
    return load();
  } finally {
    Object.defineProperty(asyncHooks, 'AsyncLocalStorage', original);
  }
}
