/** Loaded before a process: its clock is a minute behind. */
import { shiftClock } from "./shift-clock.ts";

shiftClock(-60_000);
