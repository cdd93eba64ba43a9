import * as z from 'zod';
import type { ShownSetting } from '../model/shown-setting.ts';
import { shapeOf } from './shape.ts';

const settingSchema = shapeOf<ShownSetting>()(
  z.object({
    key: z.string(),
    title: z.string(),
    value: z.unknown(),
    default: z.unknown(),
    is_default: z.boolean(),
    needs_restart: z.literal(true),
    description: z.string(),
  }),
);

/** Answer of `GET /config` (decision Z3). */
export const configSchema = z.object({ settings: z.array(settingSchema).readonly() }).meta({ id: 'Config' });
