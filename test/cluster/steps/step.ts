/** One step of the proof: a sentence and what has to hold. */

export interface Step {
  readonly name: string;
  /** Throws when it does not hold; may return a remark for the report. */
  readonly run: () => Promise<string | void>;
}

export function expect(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}
