import * as z from 'zod';
import type { SignInCode } from '../../client/access-types.ts';
import { shapeOf } from '../../core/schema/shape.ts';
import { NOT_AN_OBJECT } from '../../core/schema/text.ts';

/** Answer of `POST /sign-in-codes`. */
export const signInCodeSchema = shapeOf<SignInCode>()(
  z
    .object({
      url: z.string().meta({ description: 'The console, with a code in its fragment that signs it in once.' }),
      expires_at: z.string().meta({ description: 'When the code expires, after 60 seconds.' }),
    })
    .meta({ id: 'SignInCode' }),
);

/** Body of `POST /console/sign-in`. */
export const signInBody = z
  .object({ code: z.string({ error: 'code is missing.' }) }, NOT_AN_OBJECT)
  .meta({ id: 'SignInRequest' });

/** Answer of `POST /console/sign-in`. */
export const signInSchema = z
  .object({ key: z.string().meta({ description: "The owner's key." }) })
  .meta({ id: 'SignIn' });
