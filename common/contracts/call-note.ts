/**
 * What the activator tells the sidecar of a call, in one header: its size, its expected time, and
 * under which names its figures are kept. Opaque to everybody else; a malformed one is ignored.
 *
 *   <prompt tokens>;<us>;<characters>;<messages>;<model>;<stage>;<class>     names percent-encoded
 */

export interface CallNote {
  /** Estimated tokens of the prompt; -1 when the call has none. */
  readonly promptTokens: number;
  /** Expected time of the call alone on this pod's card. */
  readonly serviceUs: number;
  /** Characters and messages of the prompt, from which tokens per character are learnt. */
  readonly characters: number;
  readonly messages: number;
  readonly model: string;
  /** Stage of a workflow; for other calls the route. */
  readonly stage: string;
  /** Class of the workflow; empty for a call of its own. */
  readonly workflowClass: string;
}

const MOST_TEXT = 128;
/** Four numbers of up to 15 digits, exact as doubles, and three names. */
const FORM = /^(-1|\d{1,15});(\d{1,15});(\d{1,15});(\d{1,15});([^;]*);([^;]*);([^;]*)$/;

export function formatCallNote(note: CallNote): string {
  const { promptTokens, serviceUs, characters, messages } = note;
  const names = [note.model, note.stage, note.workflowClass].map((name) =>
    encodeURIComponent(name.slice(0, MOST_TEXT)),
  );
  return [promptTokens, serviceUs, characters, messages, ...names].join(";");
}

export function parseCallNote(text: string | undefined): CallNote | undefined {
  const match = FORM.exec(text ?? "");
  if (match === null) return undefined;
  try {
    return {
      promptTokens: Number(match[1]),
      serviceUs: Number(match[2]),
      characters: Number(match[3]),
      messages: Number(match[4]),
      model: decodeName(match[5]),
      stage: decodeName(match[6]),
      workflowClass: decodeName(match[7]),
    };
  } catch {
    return undefined;
  }
}

function decodeName(text = ""): string {
  return decodeURIComponent(text);
}
