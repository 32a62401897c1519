/** Loaded before a process: its clock is an hour ahead. */
import { shiftClock } from "./shift-clock.ts";

shiftClock(3_600_000);
