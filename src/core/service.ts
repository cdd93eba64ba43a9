import type { Config } from './config/config.ts';
import { type Core, openCore } from './core.ts';
import type { Feature } from './feature.ts';
import type { Host } from './host.ts';
import type { HttpServer } from './http/server.ts';
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
    const http = serve(core);
    for (const feature of host.features) await open(feature, core, http);
    await closers.start();
    // Called last, because V8 would otherwise collect garbage in the middle of startup.
    preferLittleMemory();
    return { url: http.url, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function open(feature: Feature, core: Core, http: HttpServer): Promise<void> {
  const { name } = feature;
  const running = await feature.open?.(core, core.config.features[name] ?? {});
  if (running === undefined) return;
  core.running.set(name, running);
  core.closers.add(name, { start: () => running.start?.(http), end: () => running.close?.() });
}
