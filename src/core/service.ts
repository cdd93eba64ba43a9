import type { Config } from './config/config.ts';
import type { Core } from './core.ts';
import type { Feature } from './feature.ts';
import type { Host } from './host.ts';
import { openCore } from './open-core.ts';
import { Cleanup } from './runtime/cleanup.ts';
import { preferLittleMemory } from './runtime/memory.ts';
import { serve } from './serve.ts';

export interface RunningApp {
  /** Base address, without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens the core and each feature, then starts them. If the service cannot listen, rejects with the socket's error. */
export async function startApp(config: Config, host: Host): Promise<RunningApp> {
  const closers = new Cleanup(host.log);
  try {
    const core = await openCore(config, host, closers);
    for (const feature of host.features) await open(feature, core);
    const http = await serve(core);
    for (const [name, one] of core.running) {
      closers.add(name, { start: () => one.start?.(http), end: () => one.close?.() });
    }
    await closers.start();
    // Called last, because V8 would otherwise collect garbage in the middle of startup.
    preferLittleMemory();
    return { url: http.url, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Opens a feature, before the server exists. */
async function open(feature: Feature, core: Core): Promise<void> {
  const { name } = feature;
  const running = await feature.open?.(core, core.config.features[name] ?? {});
  if (running !== undefined) core.running.set(name, running);
}
