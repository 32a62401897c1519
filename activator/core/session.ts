/** The session that a caller names, where its service keeps sessions on pods. */
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import type { CallerHeaders } from "./caller-headers.ts";

/** As the store's `CallSession`. */
export interface NamedSession {
  readonly id: string;
  readonly affinity: "soft" | "strict";
}

/** Printable ASCII without space, so that a name can stand in keys and logs; others are no session. */
const FORM = /^[\x21-\x7e]{1,128}$/;

export function sessionOf(
  { sessionAffinity }: Pick<RevisionConfig, "sessionAffinity">,
  { session: id }: Pick<CallerHeaders, "session">,
): NamedSession | undefined {
  if (sessionAffinity === undefined || !FORM.test(id)) return undefined;
  return { id, affinity: sessionAffinity };
}
