// Takes the place of the protocol package's JSON Schema validator in the bundle. It is for forms that a server shows
// through the client; Postern shows none, and its own tools are checked by their schemas.
import process from 'node:process';

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('Postern sends no forms.');
  }
}

export { process };
