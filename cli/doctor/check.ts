/** What one look of the doctor gives, and what the looks share. */
export type Health = "ok" | "warn" | "fail";

export interface Finding {
  /** What was looked at, one or two words. */
  readonly name: string;
  readonly health: Health;
  /** What was found. */
  readonly text: string;
  /** What to do; empty when all is well. */
  readonly cure: string;
}

export interface DoctorContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of the platform that may run. */
  readonly runFolder: string;
}

export type Check = (context: DoctorContext) => Promise<Finding>;

export function well(name: string, text: string): Finding {
  return { name, health: "ok", text, cure: "" };
}

export function ill(name: string, health: "warn" | "fail", text: string, cure: string): Finding {
  return { name, health, text, cure };
}
