import * as z from 'zod';
import type { Names } from '../model/names.ts';
import { shapeOf } from './shape.ts';

/** The member `names`, which clients can request. */
export const namesSchema = shapeOf<Names>()(
  z.record(z.string(), z.string()).readonly().meta({
    description:
      'With `include=contacts`: names by address, for the addresses in this object that the Address Book has.',
  }),
);
