/** A caller's request id is kept when it is a sane token: it ends up in logs, headers and keys. */

const MAX_LENGTH = 128;
const TOKEN = /^[A-Za-z0-9._~:/+=@-]+$/;

export function isValidRequestId(id: string): boolean {
  return id.length > 0 && id.length <= MAX_LENGTH && TOKEN.test(id);
}
