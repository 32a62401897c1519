/** Calls scripts by their bindings; acquires and releases come here from the batcher. */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { Reply } from "./bindings/binding.ts";
import type { Binding, EncodeContext } from "./bindings/binding.ts";
import { CallClock } from "./call-clock.ts";
import type { StoreClient } from "./client.ts";
import type { Keys } from "./keys.ts";
import type { ScriptLibrary } from "./load-scripts.ts";
import { Patience } from "./patience.ts";
import type { PatienceOptions } from "./patience.ts";
import { ScriptCommand, ScriptHeads } from "./script-command.ts";

export interface ScriptCaller {
  call<Request, Result>(
    binding: Binding<Request, Result>,
    revision: RevisionKey,
    request: Request,
  ): Promise<Result>;
  /** A plain command with the same patience. */
  command<Result>(send: (client: StoreClient) => Promise<Result>): Promise<Result>;
  /** Connected, and the library is loaded. */
  ready(): Promise<void>;
}

export interface CallerParts {
  readonly client: StoreClient;
  readonly keys: Keys;
  readonly library: ScriptLibrary;
  /** Time for scripts in us; absent: the server's. */
  readonly testTime?: (() => number) | undefined;
  readonly options: PatienceOptions;
}

export function createScriptCaller(parts: CallerParts): ScriptCaller {
  const { client, keys, library, testTime, options } = parts;
  const patience = new Patience(client, library, options);
  const heads = new ScriptHeads(keys, library);
  const clock = new CallClock();
  const context = (): EncodeContext => ({
    keys,
    now: testTime === undefined ? "0" : String(testTime()),
  });
  return {
    call: async (binding, revision, request) => {
      const head = heads.of(binding, revision);
      const args = binding.encode(request, context());
      const raw = await patience.send(() => {
        const command = new ScriptCommand(head, args, clock);
        client.sendCommand(command);
        return command.promise;
      });
      return binding.decode(new Reply(binding.script, raw), request);
    },
    command: (send) => patience.send(() => send(client)),
    ready: () => patience.ready(),
  };
}
