import { join } from 'node:path';
import { Fingerprints } from '../../core/chatdb/public.ts';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import type { Gauge } from '../../core/http/metrics/handlers.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import { ChangeDetection, type DetectionMode } from './detection.ts';
import type { ChangeTargets } from './rows.ts';

/**
 * Number of blocks that detection reads between two checkpoints of state.db. Each block writes four pages, so this many
 * blocks stay below 4,000 pages. At 4,000 pages, SQLite would checkpoint by itself, on the main thread.
 */
const BLOCKS_A_CHECKPOINT = 900;

/** Creates the detection of changes. Rows and changes are published by the core. */
export function openChanges(core: Core, enabled: DetectionMode): Running {
  const { config, host, connection, changeLog, publisher, detecting, detector } = core;
  const { clock, log } = host;
  const thread = core.thread?.with<ChangeTargets>();
  const prints = new Fingerprints(connection);
  const stateDb = join(config.dir, 'state.db');
  let blocks = 0;
  /** Makes a checkpoint in the reader thread, because it waits for the disk. If it fails, a later commit makes one. */
  const checkpoint = async (): Promise<void> => {
    try {
      await thread?.call('files', 'checkpoint', stateDb);
    } catch (error) {
      log.debug('state.db-wal could not be copied into state.db', { error });
    }
  };
  const detection = new ChangeDetection({
    // A getter, because features that are opened later may want changes all the time.
    get mode() {
      return enabled === 'auto' && detecting.isAlwaysWanted ? true : enabled;
    },
    store: changeLog,
    prints,
    background: {
      range: async (...range) => {
        blocks += 1;
        if (blocks % BLOCKS_A_CHECKPOINT === 0) await checkpoint();
        return thread?.call('prints', 'range', ...range) ?? prints.range(...range);
      },
      origins: async (...range) => thread?.call('prints', 'origins', ...range) ?? prints.origins(...range),
    },
    cursor: () => publisher.cursor,
    stream: core.changeStream,
    publish: () => publisher.publishPending(),
    clock,
    log,
  });
  detecting.doneBy(detection);
  detector.onCommit(() => detection.noteCommit());
  return {
    close: () => detection.close(),
    status: () => reported(detection),
    metrics: (gauge) => measured(detection, gauge),
  };
}

function reported(detection: ChangeDetection) {
  const { state, logged, sweptAtMs } = detection.status();
  if (state === 'off') return undefined;
  return { state, logged, swept_at: sweptAtMs === null ? null : isoSecond(sweptAtMs) };
}

function measured(detection: ChangeDetection, gauge: Gauge): void {
  const { state, logged, sweptAtMs } = detection.status();
  if (state === 'off') return;
  gauge('postern_changes_complete', 'Whether changes to every message are detected.', state === 'on' ? 1 : 0);
  gauge('postern_changes_logged', 'Changes that are kept so that readers can resume.', logged);
  const sweptAtS = sweptAtMs === null ? null : Math.floor(sweptAtMs / 1000);
  gauge('postern_changes_swept_timestamp_seconds', 'When all messages were last checked for changes.', sweptAtS);
}
