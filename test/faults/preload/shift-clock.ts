/**
 * Moves the clock of a process: every way in which Node tells the time of day is shifted, monotonic
 * time is not. In place of a changed system clock, which other programs of the machine would feel.
 */
export function shiftClock(byMs: number): void {
  const RealDate = globalThis.Date;
  const realNow = RealDate.now.bind(RealDate);
  RealDate.now = () => realNow() + byMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[]) =>
      args.length === 0 ? new target(realNow() + byMs) : Reflect.construct(target, args),
    apply: (target) => new target(realNow() + byMs).toString(),
  });
  const timeOrigin = performance.timeOrigin + byMs;
  Object.defineProperty(performance, "timeOrigin", { get: () => timeOrigin });
}
